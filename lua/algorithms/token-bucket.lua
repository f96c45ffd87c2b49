-- Token bucket. The amount is the level, which a charge after the fact may bring into debt.

algorithms['token-bucket'] = function()
  local law = {
    read = bucket.read, write = bucket.write, capacity = bucket.capacity, moveTo = bucket.moveTo,
    isOutdated = bucket.isOutdated, resetAfter = bucket.resetAfter, life = bucket.life, delay = noDelay,
  }

  local function withLevel(policy, amount, now)
    local missing = policy.burst * policy.unit - amount
    local fullAfter = bucket.flow(missing, policy.rate)
    return { at = now, amount = amount, unit = policy.unit, fullAfter = fullAfter }
  end

  function law.advance(policy, state, now)
    local capacity = policy.burst * policy.unit
    if not state or now - state.at >= state.fullAfter then
      return withLevel(policy, capacity, now)
    end
    if policy.rate == 0 then
      return state
    end
    local level = bucket.rescale(state.amount, state.unit, policy.unit, false)
    level = math.max(level, capacity - MAX)
    local elapsed = now - state.at
    if elapsed >= bucket.flow(capacity - level, policy.rate) then
      return withLevel(policy, capacity, now)
    end
    return withLevel(policy, level + elapsed * policy.rate, now)
  end

  function law.wait(policy, state, cost)
    return bucket.flow(cost * policy.unit - state.amount, policy.rate)
  end

  function law.remaining(policy, state)
    return policy.rate == 0 and 0 or math.max(0, math.floor(state.amount / policy.unit))
  end

  function law.charge(policy, state, cost, now)
    if policy.rate == 0 then
      return state
    end
    local least = policy.burst * policy.unit - MAX
    return withLevel(policy, bucket.minus(state.amount, cost, policy.unit, least), now)
  end

  function law.refund(policy, state, cost, now)
    if policy.rate == 0 then
      return state
    end
    local most = policy.burst * policy.unit
    return withLevel(policy, bucket.plus(state.amount, cost, policy.unit, most), now)
  end

  return law
end
