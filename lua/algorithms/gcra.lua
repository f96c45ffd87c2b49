-- GCRA. The amount is the backlog: what is ahead of the theoretical arrival time.

algorithms['gcra'] = function()
  local law = {
    read = bucket.read, write = bucket.write, capacity = bucket.capacity, moveTo = bucket.moveTo,
    isOutdated = bucket.isOutdated, resetAfter = bucket.resetAfter, life = bucket.life, delay = noDelay,
  }

  local function withBacklog(policy, amount, now)
    local fullAfter = bucket.flow(amount, policy.rate)
    return { at = now, amount = amount, unit = policy.unit, fullAfter = fullAfter }
  end

  function law.advance(policy, state, now)
    if not state or now - state.at >= state.fullAfter then
      return withBacklog(policy, 0, now)
    end
    if policy.rate == 0 then
      return state
    end
    local backlog = math.max(0, bucket.rescale(state.amount, state.unit, policy.unit, true))
    local elapsed = now - state.at
    if elapsed >= bucket.flow(backlog, policy.rate) then
      return withBacklog(policy, 0, now)
    end
    return withBacklog(policy, backlog - elapsed * policy.rate, now)
  end

  function law.wait(policy, state, cost)
    local room = (policy.burst - cost) * policy.unit
    return bucket.flow(state.amount - room, policy.rate)
  end

  function law.remaining(policy, state)
    if policy.rate == 0 then
      return 0
    end
    return math.max(0, math.floor((policy.burst * policy.unit - state.amount) / policy.unit))
  end

  function law.charge(policy, state, cost, now)
    if policy.rate == 0 then
      return state
    end
    return withBacklog(policy, bucket.plus(state.amount, cost, policy.unit, MAX), now)
  end

  function law.refund(policy, state, cost, now)
    if policy.rate == 0 then
      return state
    end
    return withBacklog(policy, bucket.minus(state.amount, cost, policy.unit, 0), now)
  end

  return law
end
