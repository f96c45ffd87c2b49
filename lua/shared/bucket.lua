-- What token bucket, GCRA and leaky bucket share: amounts in whole units of 1/unit token, which move
-- by `rate` units a millisecond. State: "<at> <amount> <unit> <full after>".

local bucket = {}

function bucket.read(raw)
  local at, amount, unit, fullAfter = string.match(raw, '^(%d+) (%-?%d+) (%d+) (%d+)$')
  at, unit, fullAfter = whole(at), whole(unit), whole(fullAfter)
  amount = tonumber(amount)
  if not (at and unit and unit > 0 and fullAfter and amount) then
    return nil
  end
  if amount < -MAX or amount > MAX then
    return nil
  end
  return { at = at, amount = amount, unit = unit, fullAfter = fullAfter }
end

function bucket.write(state)
  return string.format('%.0f %.0f %.0f %.0f', state.at, state.amount, state.unit, state.fullAfter)
end

function bucket.moveTo(policy, state, now)
  return { at = now, amount = state.amount, unit = state.unit, fullAfter = state.fullAfter }
end

function bucket.isOutdated(stored, advanced)
  return stored.unit ~= advanced.unit
    or stored.fullAfter - (advanced.at - stored.at) ~= advanced.fullAfter
end

function bucket.capacity(policy)
  return policy.burst
end

function bucket.resetAfter(policy, state)
  return policy.rate == 0 and 0 or state.fullAfter
end

function bucket.life(policy, state, now)
  return state.fullAfter - (now - state.at)
end

-- Milliseconds for `units` to flow.
function bucket.flow(units, rate)
  return units <= 0 and 0 or math.ceil(units / rate)
end

-- amount * to / from, rounded up or down, kept within -MAX..MAX, exactly. The product can pass 2^53,
-- so whole tokens go apart from the fraction, and the fraction is divided digit by digit in base
-- 2^12: a remainder under 2^39 (the longest window) times 2^12 fits.
function bucket.rescale(amount, from, to, up)
  if from == to then
    return amount
  end
  local tokens = math.floor(amount / from)
  local fraction = amount - tokens * from
  local part, rest = 0, 0
  for digit = 3, 0, -1 do
    rest = rest * 4096 + fraction * (math.floor(to / 4096 ^ digit) % 4096)
    part = part * 4096 + math.floor(rest / from)
    rest = rest % from
  end
  if up and rest > 0 then
    part = part + 1
  end
  -- A negative whole is taken one token nearer to 0, so that neither term passes -MAX on its own.
  if tokens < 0 then
    tokens, part = tokens + 1, part - to
  end
  local most = math.floor(MAX / to)
  if tokens > most or tokens < -most then
    return tokens < 0 and -MAX or MAX
  end
  local sum = tokens * to
  if part > MAX - sum then
    return MAX
  end
  return part < -MAX - sum and -MAX or sum + part
end

-- amount + cost * unit, stopped at `most` before the product can pass 2^53.
function bucket.plus(amount, cost, unit, most)
  return cost > math.floor((most - amount) / unit) and most or amount + cost * unit
end

-- amount - cost * unit, stopped at `least`.
function bucket.minus(amount, cost, unit, least)
  return cost > math.floor((amount - least) / unit) and least or amount - cost * unit
end
