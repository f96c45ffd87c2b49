--[[
  Decides a list of operations over keys, each all or none, in one atomic step: reads first, writes
  last, one write a key that sets the value and its time to live together.

  KEYS[n]  the counters' keys, each named once
  ARGV     first the policies, then the operations, told apart by their counts:
             <number of policies>
             per policy: <algorithm> <limit> <window ms> <burst> <max delay ms> <rate> <unit>
             <number of operations>
             per operation: <verb> <number of charges>
               per charge: <index in KEYS> <index of policy> <cost> <1 enforced | 0 shadow>
           verbs: consume peek charge refund reset unblock, and block, whose cost is milliseconds
  Returns  the time of the decision (ms), then per charge, flat:
             <1 passes | 0 refused | 2 not a charge> <remaining> <retry after ms, -1 never>
             <reset after ms> <delay ms>
           Integers; strings from 2^52 on, because some clients lose the last bit of those.

  A value is: one byte, 1 if a block stands in front and else 0; the end of the block (6 bytes, ms);
  then, if there is a state, its time (6 bytes, ms) and what its algorithm packs. Little-endian.

  Functions are made only where a call needs them: making one costs as much as using it.

  A law is a function of (state, at, now, policy, cost, verb): `state` and its time `at` are nil for
  a full quota, `now` is never before `at`. It returns, as they stand,
    <ms until cost passes, 0 now> <delay ms> <remaining> <ms to a full quota>
    <true if the policy's numbers are not those the state was written with>
  and for the verbs that write (consume, if it passes; charge; refund; repair, the state as it is)
    <time of the new state> <its packing> <remaining> <ms to a full quota> after it,
  or no time if nothing is to be written. For the verb `life` it returns only the ms from `now`
  until a state is full by the numbers it was written with.
]]

local MAX = 9007199254740991
-- A key outlives its state by this much, so that a clock a little ahead does not forget it early.
local SKEW_MS = 1000

local keys, args = KEYS, ARGV
local call, pack, unpack = redis.call, struct.pack, struct.unpack
local floor, ceil, max, byte, sub = math.floor, math.ceil, math.max, string.byte, string.sub

-- A whole number from 0 to MAX, or nil: tonumber alone takes nan, inf, 0x10, 1e3 and 1.5.
local function whole(text)
  local number = text and string.find(text, '^%d+$') and tonumber(text)
  return number and number <= MAX and number or nil
end

-- How many follow: no more than there are arguments, so that no count keeps Redis busy.
local function count(text)
  return math.min(whole(text) or 0, #args)
end

-- Algorithms that some policy names, and their laws. A bucket's capacity is its burst, the time of an
-- aligned state is the start of a window, a packing of fixed length has so many bytes.
local uses, laws, isBucket, isAligned, bytes = {}, {}, {}, {}, {}
local policyCount = count(args[1])
for index = 0, policyCount - 1 do
  uses[args[2 + 7 * index] or ''] = true
end

-- @include shared

-- @include algorithms

local policies = {}
for index = 1, policyCount do
  local at = 7 * index - 5
  local algorithm = args[at]
  local limit, window, burst = whole(args[at + 1]), whole(args[at + 2]), whole(args[at + 3])
  local maxDelay, rate, unit = whole(args[at + 4]), whole(args[at + 5]), whole(args[at + 6])
  local law = laws[algorithm]
  if law and limit and window and window > 0 and burst and maxDelay and rate and unit and unit > 0 then
    policies[index] = {
      law = law, isAligned = isAligned[algorithm], bytes = bytes[algorithm], limit = limit,
      window = window, burst = burst, maxDelay = maxDelay, rate = rate, unit = unit,
      capacity = isBucket[algorithm] and burst or limit,
    }
  end
end

-- Read once: before Redis 7.2 a script's clock goes on while it runs.
local time = redis.call('TIME')
local clock = time[1] * 1000 + floor(time[2] / 1000)

-- Values as they are now, by key: read when first asked for, written at the end if they have a new
-- life. A foreign type counts as absent, and is overwritten.
local values, exists, lives, touched = {}, {}, {}, {}

local function valueOf(key)
  local value = values[key]
  if not value then
    local raw = redis.pcall('GET', keys[key])
    if type(raw) == 'table' and sub(raw.err, 1, 9) ~= 'WRONGTYPE' then
      raw = call('GET', keys[key])
    end
    exists[key] = raw ~= false
    value = type(raw) == 'string' and raw or ''
    values[key] = value
  end
  return value
end

-- The parts of a value: the end of its block, its time, its state. Malformed counts as absent.
local function parts(value, policy)
  local mark, blockedUntil, start = byte(value), 0, 2
  if mark == 1 and #value >= 7 then
    blockedUntil, start = unpack('<I6', value, 2)
  elseif mark ~= 0 then
    return 0
  end
  local length = #value - start - 5
  if length < 1 or (policy.bytes and length ~= policy.bytes) then
    return blockedUntil
  end
  local at = unpack('<I6', value, start)
  -- A time after the year 3000 has a printable character as its last byte: text, and no state.
  if at >= 35184372088832 or (policy.isAligned and at % policy.window ~= 0) then
    return blockedUntil
  end
  return blockedUntil, at, sub(value, start + 6)
end

local function valueWith(blockedUntil, at, state)
  if blockedUntil <= clock then
    return at and pack('<BI6', 0, at) .. state or ''
  end
  return at and pack('<BI6I6', 1, blockedUntil, at) .. state or pack('<BI6', 1, blockedUntil)
end

-- Asks a law about a value, and adds what is common to all: a clock that is behind, a block, a cost
-- of 0 or over the capacity. Returns what a law does, with the new value and its life for the new
-- state.
local function ask(value, policy, cost, verb)
  local blockedUntil, at, state = parts(value, policy)
  local now, isMoved = clock, false
  if at and at > clock then
    if at - clock > policy.window then
      -- No clock that we can trust made it: its amounts are kept, its time is put right.
      at = policy.isAligned and clock - clock % policy.window or clock
      isMoved = true
    else
      now = at
    end
  end
  local wait, delay, remaining, reset, isOutdated, newAt, newState, newRemaining, newReset =
    policy.law(state, at, now, policy, cost, verb)

  local behind, blocked = now - clock, max(0, blockedUntil - clock)
  -- A full quota has nothing to put right, and writing it would forget what other numbers hold.
  local needsRepair = (isMoved or isOutdated) and reset > 0
  reset = max(reset > 0 and reset + behind or 0, blocked)
  if blocked > 0 then
    remaining = 0
  end
  if cost == 0 then
    wait, delay = 0, 0
  elseif cost > policy.capacity then
    wait, delay = -1, 0
  elseif wait > 0 or blocked > 0 then
    wait, delay = max(wait > 0 and wait + behind or 0, blocked), 0
  end
  if not newAt then
    return wait, delay, remaining, reset, needsRepair
  end
  local life = newReset > 0 and newReset + behind or 0
  local newValue = valueWith(blockedUntil, life > 0 and newAt or nil, newState)
  life = max(life, blocked)
  return wait, delay, remaining, reset, needsRepair, newValue, life, blocked > 0 and 0 or newRemaining
end

local function repair(key, policy)
  local _, _, _, _, needsRepair, value, life = ask(values[key], policy, 0, 'repair')
  -- An earlier charge may have put the same counter right, for its own numbers.
  if needsRepair then
    values[key], lives[key] = value, life
  end
end

local reply, replied = { clock }, 1

local function report(status, remaining, wait, reset, delay)
  local most = 4503599627370496
  reply[replied + 1] = status
  reply[replied + 2] = remaining < most and remaining or string.format('%.0f', remaining)
  reply[replied + 3] = wait < most and wait or string.format('%.0f', wait)
  reply[replied + 4] = reset < most and reset or string.format('%.0f', reset)
  reply[replied + 5] = delay
  replied = replied + 5
end

-- All charges are decided, each on what the ones before it would leave; then all are charged or none.
local function decide(charges, isPeek)
  local seen, newValues, newLives, isRefused, isRepeated = {}, {}, {}, false, false
  for index = 1, #charges do
    local charge = charges[index]
    local key, cost = charge.key, charge.cost
    isRepeated, seen[key] = isRepeated or seen[key], true
    local wait, delay, remaining, reset, needsRepair, value, life, newRemaining =
      ask(newValues[key] or valueOf(key), charge.policy, cost, 'consume')
    charge.wait, charge.delay, charge.needsRepair = wait, delay, needsRepair
    charge.remaining, charge.reset = remaining, reset
    if wait ~= 0 then
      isRefused = isRefused or charge.isEnforced
    elseif value then
      charge.newRemaining, charge.newReset = newRemaining, life
      newValues[key], newLives[key] = value, life
    end
  end
  local isCharged = not isPeek and not isRefused
  for index = 1, #charges do
    local charge = charges[index]
    local key, policy = charge.key, charge.policy
    if isCharged and newValues[key] then
      values[key], lives[key] = newValues[key], newLives[key]
      if charge.newRemaining then
        charge.remaining, charge.reset = charge.newRemaining, charge.newReset
      end
    elseif not isPeek then
      touched[key] = policy
      if charge.needsRepair or lives[key] then
        repair(key, policy)
      end
    end
  end
  for index = 1, #charges do
    local charge = charges[index]
    local remaining, reset, _ = charge.remaining, charge.reset
    if isRepeated then
      _, _, remaining, reset = ask(values[charge.key], charge.policy, 0, 'look')
    end
    report(charge.wait == 0 and 1 or 0, remaining, charge.wait, reset, charge.delay)
  end
end

-- Writes a value anew, with another block. A state that says nothing any more goes; another stays
-- as it is, also where a refusal would repair it.
local function keep(key, policy, blockedUntil, at, state)
  local life = 0
  if at then
    local now = max(clock, at)
    life = policy.law(state, at, now, policy, 0, 'life')
    life = life > 0 and life + now - clock or 0
  end
  values[key] = valueWith(blockedUntil, life > 0 and at or nil, state)
  lives[key] = max(life, blockedUntil - clock, 0)
end

-- The verbs that change one counter, whatever it says.
local function change(verb, charge)
  local key, policy, cost = charge.key, charge.policy, charge.cost
  local before = valueOf(key)
  touched[key] = policy
  if verb == 'charge' or verb == 'refund' then
    local _, _, remaining, reset, needsRepair, value, life, newRemaining =
      ask(before, policy, cost, cost > 0 and verb or 'look')
    if value then
      values[key], lives[key] = value, life
      remaining, reset = newRemaining, life
    elseif needsRepair then
      repair(key, policy)
    end
    return report(1, remaining, 0, reset, 0)
  end
  local _, at, state = parts(before, policy)
  if verb == 'reset' then
    at = nil
  end
  keep(key, policy, verb == 'block' and clock + cost or 0, at, state)
  local wait, delay, remaining, reset = ask(values[key], policy, 1, 'look')
  return report(wait == 0 and 1 or 0, remaining, wait, reset, delay)
end

local verbs = {
  consume = decide, peek = decide, charge = change, refund = change, block = change,
  unblock = change, reset = change,
}
local position = 2 + 7 * policyCount
for _ = 1, count(args[position]) do
  local verb, size = args[position + 1], count(args[position + 2])
  local act = verbs[verb]
  local charges, isValid = {}, act ~= nil
  position = position + 2
  for index = 1, size do
    local key, policy = whole(args[position + 1]), policies[whole(args[position + 2]) or 0]
    local cost = whole(args[position + 3])
    isValid = isValid and key and keys[key] and policy and cost and true or false
    charges[index] = {
      key = key, policy = policy, cost = cost, isEnforced = args[position + 4] == '1', wait = 0,
      delay = 0, remaining = 0, reset = 0, needsRepair = false, newRemaining = false, newReset = 0,
    }
    position = position + 4
  end
  if not isValid then
    for _ = 1, size do
      report(2, 0, 0, 0, 0)
    end
  elseif act == decide then
    decide(charges, verb == 'peek')
  else
    for index = 1, size do
      change(verb, charges[index])
    end
  end
end

-- A key without a time to live would stay for ever; whoever touches it gives it one.
for key, policy in pairs(touched) do
  if not lives[key] and exists[key] and call('PTTL', keys[key]) == -1 then
    keep(key, policy, parts(values[key], policy))
  end
end

for key, life in pairs(lives) do
  if life > 0 then
    call('SET', keys[key], values[key], 'PX', string.format('%.0f', life + SKEW_MS))
  elseif exists[key] then
    call('DEL', keys[key])
  end
end

return reply
