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

-- A whole number from 0 to MAX, or nil: tonumber alone takes nan, inf, 0x10, 1e3 and 1.5. Remembered,
-- because a batch says the same few numbers again and again.
local numbers = {}
local function whole(text)
  local number = numbers[text or '']
  if number == nil then
    number = text and string.find(text, '^%d+$') and tonumber(text)
    number = number and number <= MAX and number or false
    numbers[text or ''] = number
  end
  return number
end

-- How many follow: no more than there are arguments, so that no count keeps Redis busy.
local function count(text)
  return math.min(whole(text) or 0, #args)
end

-- Algorithms that some policy names, and what is known of them: `law`; `isBucket`, whose capacity is
-- the burst; `isAligned`, whose time is the start of a window; `bytes`, if a packing's length is fixed.
local uses, algorithms = {}, {}
local policyCount = count(args[1])
for index = 0, policyCount - 1 do
  uses[args[2 + 7 * index] or ''] = true
end

-- @include shared

-- @include algorithms

local policies = {}
for index = 1, policyCount do
  local at = 7 * index - 5
  local algorithm = algorithms[args[at]]
  local limit, window, burst = whole(args[at + 1]), whole(args[at + 2]), whole(args[at + 3])
  local maxDelay, rate, unit = whole(args[at + 4]), whole(args[at + 5]), whole(args[at + 6])
  if algorithm and limit and window and window > 0 and burst and maxDelay and rate and unit and unit > 0 then
    policies[index] = {
      law = algorithm.law, isAligned = algorithm.isAligned, bytes = algorithm.bytes, limit = limit,
      window = window, burst = burst, maxDelay = maxDelay, rate = rate, unit = unit,
      capacity = algorithm.isBucket and burst or limit,
    }
  end
end

-- Read once: before Redis 7.2 a script's clock goes on while it runs.
local time = redis.call('TIME')
local clock = time[1] * 1000 + floor(time[2] / 1000)

-- @include values

-- @include verbs

-- Filled anew for each operation.
local charges = {}
local position = 2 + 7 * policyCount
for _ = 1, count(args[position]) do
  local verb, size = args[position + 1], count(args[position + 2])
  local isDecision = verb == 'consume' or verb == 'peek'
  local isValid = isDecision or verb == 'charge' or verb == 'refund' or verb == 'block'
    or verb == 'unblock' or verb == 'reset'
  position = position + 2
  for index = 1, size do
    local key, policy = whole(args[position + 1]), policies[whole(args[position + 2]) or 0]
    local cost = whole(args[position + 3])
    isValid = isValid and key and keys[key] and policy and cost and true or false
    local charge = charges[index]
    if not charge then
      charge = {
        key = key, policy = policy, cost = cost, isEnforced = true, wait = 0, delay = 0,
        remaining = 0, reset = 0, needsRepair = false, newRemaining = false, newReset = 0,
      }
      charges[index] = charge
    end
    charge.key, charge.policy, charge.cost = key, policy, cost
    charge.isEnforced, charge.newRemaining = args[position + 4] == '1', false
    position = position + 4
  end
  if not isValid then
    for _ = 1, size do
      report(2, 0, 0, 0, 0)
    end
  elseif isDecision then
    decide(charges, size, verb == 'peek')
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
