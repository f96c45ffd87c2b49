--[[
  Decides a list of operations over keys, each all or none, in one atomic step: reads first, writes
  last, one write a key that sets the value and its time to live together.

  KEYS[n]  the counters' keys, each named once
  ARGV     first the policies, then the operations, told apart by their counts:
             <number of policies>
             per policy: <algorithm> <limit> <window ms> <burst> <max delay ms> <rate> <unit>
             <number of operations>
             per operation: <name> <number of charges>
               per charge: <index in KEYS> <index of policy> <cost> <1 enforced | 0 shadow>
           names: consume peek charge refund reset unblock, and block, whose cost is milliseconds
  Returns  one string of numbers: the time of the decision (ms), then per charge
             <1 passes | 0 refused | 2 not a charge> <remaining> <retry after ms, -1 never>
             <reset after ms> <delay ms>
           A string, because replies of some clients lose the last bit of integers near 2^53.
]]

local MAX = 9007199254740991
-- A key outlives its state by this much, so that a clock a little ahead does not forget it early.
local SKEW_MS = 1000

local keys, args, position = KEYS, ARGV, 0

local function nextArg()
  position = position + 1
  return args[position]
end

-- A whole number from 0 to MAX, or nil: tonumber alone takes nan, inf, 0x10, 1e3 and 1.5.
local function whole(text)
  local number = text and string.find(text, '^%d+$') and tonumber(text)
  return number and number <= MAX and number or nil
end

-- How many follow: no more than there are arguments, so that no count keeps Redis busy.
local function count()
  return math.min(whole(nextArg()) or 0, #args)
end

-- One factory per algorithm, so that a call builds only the laws that it uses.
local algorithms, laws = {}, {}

local function lawOf(name)
  local law = laws[name]
  if not law and algorithms[name] then
    law = algorithms[name]()
    laws[name] = law
  end
  return law
end

-- @include shared

-- @include algorithms

-- Read once: before Redis 7.2 a script's clock goes on while it runs.
local time = redis.call('TIME')
local clock = time[1] * 1000 + math.floor(time[2] / 1000)

local function readPolicy()
  local law = lawOf(nextArg())
  local policy = {
    law = law, limit = whole(nextArg()), window = whole(nextArg()), burst = whole(nextArg()),
    maxDelay = whole(nextArg()), rate = whole(nextArg()), unit = whole(nextArg()),
  }
  local isComplete = law and policy.limit and policy.window and policy.window > 0 and policy.burst
    and policy.maxDelay and policy.rate and policy.unit and policy.unit > 0
  return isComplete and policy or nil
end

-- Accounts: what is kept for a key. Foreign types and malformed values count as absent.
local accounts = {}

local function accountOf(index, policy)
  local account = accounts[index]
  if account then
    return account
  end
  local raw = redis.pcall('GET', keys[index])
  if type(raw) == 'table' and string.sub(raw.err, 1, 9) ~= 'WRONGTYPE' then
    raw = redis.call('GET', keys[index])
  end
  account = { blockedUntil = 0, exists = raw ~= false, policy = policy }
  if type(raw) == 'string' then
    local untilTime, rest = string.match(raw, '^!(%d+) (.*)$')
    account.blockedUntil = whole(untilTime) or 0
    account.state = policy.law.read(rest or raw, policy)
  end
  accounts[index] = account
  return account
end

-- An account as it stands now: its time never goes back, and never waits for a clock far behind.
local function standingOf(account, policy, state)
  local law, now, needsRepair = policy.law, clock, false
  if state and state.at - clock > policy.window then
    state, needsRepair = law.moveTo(policy, state, clock), true
  end
  if state and state.at > clock then
    now = state.at
  end
  local advanced = law.advance(policy, state, now)
  if state and law.isOutdated and law.isOutdated(state, advanced) then
    needsRepair = true
  end
  -- A full quota has nothing to put right, and writing it would forget what other numbers hold.
  needsRepair = needsRepair and law.resetAfter(policy, advanced, now) > 0
  return {
    state = advanced, now = now, behind = now - clock, needsRepair = needsRepair,
    blocked = math.max(0, account.blockedUntil - clock),
  }
end

local function waitOf(policy, standing, cost)
  if cost == 0 then
    return 0
  end
  if cost > policy.law.capacity(policy) then
    return -1
  end
  local wait = policy.law.wait(policy, standing.state, cost, standing.now)
  return math.max(wait > 0 and wait + standing.behind or 0, standing.blocked)
end

local function remainingOf(policy, standing)
  if standing.blocked > 0 then
    return 0
  end
  return policy.law.remaining(policy, standing.state, standing.now)
end

local function resetOf(policy, standing)
  local reset = policy.law.resetAfter(policy, standing.state, standing.now)
  return math.max(reset > 0 and reset + standing.behind or 0, standing.blocked)
end

local function put(account, policy, state)
  account.state, account.policy, account.isChanged = state, policy, true
end

local reply = { string.format('%.0f', clock) }

local function report(status, policy, account, wait, delay)
  local standing = standingOf(account, policy, account.state)
  reply[#reply + 1] = string.format('%d %.0f %.0f %.0f %.0f', status,
    remainingOf(policy, standing), wait, resetOf(policy, standing), delay)
end

-- All charges are decided, each on what the ones before it would leave; then all are charged or none.
local function decide(charges, isPeek)
  local tentative, isRefused = {}, false
  for _, charge in ipairs(charges) do
    local policy, law, account = charge.policy, charge.policy.law, charge.account
    local standing = standingOf(account, policy, tentative[charge.key] or account.state)
    charge.needsRepair = standing.needsRepair
    charge.wait, charge.delay = waitOf(policy, standing, charge.cost), 0
    if charge.wait ~= 0 then
      isRefused = isRefused or charge.isEnforced
    elseif charge.cost > 0 then
      charge.delay = law.delay(policy, standing.state)
      tentative[charge.key] = law.charge(policy, standing.state, charge.cost, standing.now)
    end
  end
  local isCharged = not isPeek and not isRefused
  for _, charge in ipairs(charges) do
    local account, policy = charge.account, charge.policy
    if isCharged and tentative[charge.key] then
      put(account, policy, tentative[charge.key])
    elseif not isPeek then
      account.isTouched = true
      -- Asked again where an earlier charge has put the same account right for its own numbers.
      if charge.needsRepair or account.isChanged then
        local standing = standingOf(account, policy, account.state)
        if standing.needsRepair then
          put(account, policy, standing.state)
        end
      end
    end
  end
  for _, charge in ipairs(charges) do
    report(charge.wait == 0 and 1 or 0, charge.policy, charge.account, charge.wait, charge.delay)
  end
end

-- Operations that change one account and report how it stands afterwards.
local changes = {}

local function move(charge, verb)
  local policy, account = charge.policy, charge.account
  local standing = standingOf(account, policy, account.state)
  local moved = policy.law[verb](policy, standing.state, charge.cost, standing.now)
  account.isTouched = true
  if charge.cost > 0 and moved ~= standing.state then
    put(account, policy, moved)
  elseif standing.needsRepair then
    put(account, policy, standing.state)
  end
  report(1, policy, account, 0, 0)
end

function changes.charge(charge)
  move(charge, 'charge')
end

function changes.refund(charge)
  move(charge, 'refund')
end

local function reportNext(charge)
  local policy, account = charge.policy, charge.account
  local standing = standingOf(account, policy, account.state)
  local wait = waitOf(policy, standing, 1)
  local delay = wait == 0 and policy.law.delay(policy, standing.state) or 0
  report(wait == 0 and 1 or 0, policy, account, wait, delay)
end

function changes.block(charge)
  charge.account.blockedUntil = clock + charge.cost
  put(charge.account, charge.policy, charge.account.state)
  reportNext(charge)
end

function changes.unblock(charge)
  charge.account.blockedUntil = 0
  put(charge.account, charge.policy, charge.account.state)
  reportNext(charge)
end

function changes.reset(charge)
  charge.account.blockedUntil = 0
  put(charge.account, charge.policy, nil)
  reportNext(charge)
end

local policies = {}
for index = 1, count() do
  policies[index] = readPolicy() or false
end

for _ = 1, count() do
  local name, size = nextArg(), count()
  local charges, isValid = {}, name == 'consume' or name == 'peek' or changes[name] ~= nil
  for index = 1, size do
    local key, policy = whole(nextArg()), policies[whole(nextArg()) or 0]
    local cost, isEnforced = whole(nextArg()), nextArg() == '1'
    isValid = isValid and key and keys[key] and policy and cost and true or false
    charges[index] = { key = key, policy = policy, cost = cost, isEnforced = isEnforced }
  end
  if not isValid then
    for _ = 1, size do
      reply[#reply + 1] = '2 0 0 0 0'
    end
  else
    for _, charge in ipairs(charges) do
      charge.account = accountOf(charge.key, charge.policy)
    end
    if name == 'consume' or name == 'peek' then
      decide(charges, name == 'peek')
    else
      for _, charge in ipairs(charges) do
        changes[name](charge)
      end
    end
  end
end

-- A full quota is the same as no state, and a block that is over the same as none.
local function write(key, account)
  local policy, state = account.policy, account.state
  local now = state and math.max(clock, state.at) or clock
  local life = state and policy.law.life(policy, state, now) or 0
  life = life > 0 and life + now - clock or 0
  local value = life > 0 and policy.law.write(state) or ''
  if account.blockedUntil > clock then
    value = string.format('!%.0f ', account.blockedUntil) .. value
    life = math.max(life, account.blockedUntil - clock)
  end
  if life > 0 then
    redis.call('SET', key, value, 'PX', string.format('%.0f', life + SKEW_MS))
  elseif account.exists then
    redis.call('DEL', key)
  end
end

for index, account in pairs(accounts) do
  local key = keys[index]
  if account.isChanged then
    write(key, account)
  elseif account.isTouched and account.exists and redis.call('PTTL', key) == -1 then
    write(key, account)
  end
end

return table.concat(reply, ' ')
