-- Token bucket, GCRA and leaky bucket are one law: what is missing from a full quota flows back by
-- `rate` units a millisecond, and one token is `unit` units. They differ in which end is kept when
-- the numbers change: a level (what is there) or a backlog (what is missing).
-- Packed: the level or backlog (7 bytes, signed), the unit (5), the ms to a full quota (7).

local bucketLaw

if uses['token-bucket'] or uses['gcra'] or uses['leaky-bucket'] then
  local BUCKET = '<i7I5I7'

  -- Milliseconds for `units` to flow.
  local function flow(units, rate)
    return units <= 0 and 0 or ceil(units / rate)
  end

  -- amount * to / from, rounded up or down, kept within -MAX..MAX, exactly. The product can pass 2^53,
  -- so whole tokens go apart from the fraction, and the fraction is divided digit by digit in base
  -- 2^12: a remainder under 2^39 (the longest window) times 2^12 fits.
  local function rescale(amount, from, to, isUp)
    if from == to then
      return amount
    end
    local tokens = floor(amount / from)
    local fraction = amount - tokens * from
    local part, rest = 0, 0
    for digit = 3, 0, -1 do
      rest = rest * 4096 + fraction * (floor(to / 4096 ^ digit) % 4096)
      part = part * 4096 + floor(rest / from)
      rest = rest % from
    end
    if isUp and rest > 0 then
      part = part + 1
    end
    -- A negative whole is taken one token nearer to 0, so that neither term passes -MAX on its own.
    if tokens < 0 then
      tokens, part = tokens + 1, part - to
    end
    local most = floor(MAX / to)
    if tokens > most or tokens < -most then
      return tokens < 0 and -MAX or MAX
    end
    local sum = tokens * to
    if part > MAX - sum then
      return MAX
    end
    return part < -MAX - sum and -MAX or sum + part
  end

  -- What is missing now, and whether the policy's numbers have changed since it was written.
  local function missingNow(state, at, now, policy, isLevel)
    local amount, unit, fullAfter = unpack(BUCKET, state)
    local elapsed = now - at
    if amount > MAX or amount < -MAX or unit == 0 or fullAfter > MAX or elapsed >= fullAfter then
      return 0, false
    end
    local missing
    if isLevel then
      local capacity = policy.burst * policy.unit
      local level = max(rescale(amount, unit, policy.unit, false), capacity - MAX)
      missing = max(0, capacity - level)
    else
      missing = max(0, rescale(amount, unit, policy.unit, true))
    end
    local whenFull = flow(missing, policy.rate)
    missing = elapsed >= whenFull and 0 or missing - elapsed * policy.rate
    return missing, unit ~= policy.unit or whenFull ~= fullAfter
  end

  bucketLaw = function(state, at, now, policy, cost, verb, isLevel, isQueue)
    local rate, unit = policy.rate, policy.unit
    if verb == 'life' then
      local _, _, fullAfter = unpack(BUCKET, state)
      return fullAfter - (now - at)
    elseif rate == 0 then
      return 1, 0, 0, 0, false
    end
    local capacity = policy.burst * unit
    local missing, isOutdated = 0, false
    if state then
      missing, isOutdated = missingNow(state, at, now, policy, isLevel)
    end
    local reset = flow(missing, rate)
    local wait, delay = flow(missing - (policy.burst - cost) * unit, rate), 0
    local remaining = max(0, floor((capacity - missing) / unit))
    if isQueue then
      delay = reset
      wait = max(wait, delay - policy.maxDelay)
      remaining = delay > policy.maxDelay and 0 or remaining
    end

    if verb == 'charge' or (verb == 'consume' and wait == 0 and cost > 0) then
      missing = cost > floor((MAX - missing) / unit) and MAX or missing + cost * unit
    elseif verb == 'refund' then
      missing = cost > floor(missing / unit) and 0 or missing - cost * unit
    elseif verb ~= 'repair' then
      return wait, delay, remaining, reset, isOutdated
    end
    local newReset = flow(missing, rate)
    local newRemaining = max(0, floor((capacity - missing) / unit))
    if isQueue and newReset > policy.maxDelay then
      newRemaining = 0
    end
    local packed = pack(BUCKET, isLevel and capacity - missing or missing, unit, newReset)
    return wait, delay, remaining, reset, isOutdated, now, packed, newRemaining, newReset
  end
end
