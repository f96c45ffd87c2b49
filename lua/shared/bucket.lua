-- Token bucket, GCRA and leaky bucket are one law: what is missing from a full quota flows back by
-- `rate` units a millisecond, and one token is `unit` units. They differ in which end is kept when
-- the numbers change: a level (what is there) or a backlog (what is missing).
-- Packed: the level or backlog (7 bytes, signed), the unit (5), the ms to a full quota (7).

local bucket

if name == 'token-bucket' or name == 'gcra' or name == 'leaky-bucket' then
  -- amount * to / from, rounded up or down, kept within -MAX..MAX, exactly. The product can pass 2^53,
  -- so whole tokens go apart from the fraction, and the fraction is divided digit by digit in base
  -- 2^12: a remainder under 2^39 (the longest window) times 2^12 fits.
  local function rescale(amount, from, to, isUp)
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

  local function law(at, now, amount, unitThen, fullAfter, policy, cost, verb)
    if verb == 'life' then
      return fullAfter - (now - at)
    end
    local rate, unit, isLevel = policy.rate, policy.unit, bucket.isLevel
    if rate == 0 then
      return 1, 0, 0, 0, false
    end
    local full = policy.capacity * unit
    local missing, isOutdated = 0, false
    if at and now - at < fullAfter and unitThen > 0
      and amount <= MAX and amount >= -MAX and fullAfter <= MAX then
      if unitThen ~= unit then
        amount, isOutdated = rescale(amount, unitThen, unit, not isLevel), true
      end
      missing = amount
      if isLevel then
        missing = amount < full - MAX and MAX or full - amount
      end
      if missing > 0 then
        local whenFull = ceil(missing / rate)
        isOutdated = isOutdated or whenFull ~= fullAfter
        missing = now - at >= whenFull and 0 or missing - (now - at) * rate
      else
        missing, isOutdated = 0, true
      end
    end

    local wait, delay = missing - (policy.capacity - cost) * unit, 0
    wait = wait > 0 and ceil(wait / rate) or 0
    if bucket.isQueue then
      delay = ceil(missing / rate)
      wait = wait < delay - policy.maxDelay and delay - policy.maxDelay or wait
    end
    local isNew = true
    if verb == 'charge' or (verb == 'consume' and wait == 0 and cost > 0) then
      missing = cost > floor((MAX - missing) / unit) and MAX or missing + cost * unit
    elseif verb == 'refund' then
      missing = cost > floor(missing / unit) and 0 or missing - cost * unit
    else
      isNew = isOutdated and missing > 0
    end
    local reset, remaining = ceil(missing / rate), floor((full - missing) / unit)
    if remaining < 0 or (bucket.isQueue and reset > policy.maxDelay) then
      remaining = 0
    end
    return wait, delay, remaining, reset, isNew, now, isLevel and full - missing or missing, unit, reset
  end

  bucket = { law = law, isBucket = true, form = 'I6i7I5I7', bytes = 25 }
end
