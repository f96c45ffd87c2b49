-- Leaky bucket: GCRA whose callers are held until what was ahead of them has drained.

algorithms['leaky-bucket'] = function()
  local gcra = lawOf('gcra')
  local law = {}
  for name, part in pairs(gcra) do
    law[name] = part
  end

  function law.delay(policy, state)
    return bucket.flow(state.amount, policy.rate)
  end

  function law.wait(policy, state, cost)
    local overdue = bucket.flow(state.amount, policy.rate) - policy.maxDelay
    return math.max(overdue, gcra.wait(policy, state, cost))
  end

  function law.remaining(policy, state)
    local delay = bucket.flow(state.amount, policy.rate)
    return delay > policy.maxDelay and 0 or gcra.remaining(policy, state)
  end

  return law
end
