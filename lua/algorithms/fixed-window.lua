-- Fixed window. State: "<start> <used>".

algorithms['fixed-window'] = function()
  local law = { delay = noDelay }

  function law.read(raw, policy)
    local at, used = string.match(raw, '^(%d+) (%d+)$')
    at, used = whole(at), whole(used)
    if not (at and used) or at % policy.window ~= 0 then
      return nil
    end
    return { at = at, used = used }
  end

  function law.write(state)
    return string.format('%.0f %.0f', state.at, state.used)
  end

  function law.capacity(policy)
    return policy.limit
  end

  function law.advance(policy, state, now)
    local at = windowStart(policy, now)
    if state and state.at == at then
      return state
    end
    return { at = at, used = 0 }
  end

  function law.moveTo(policy, state, now)
    return { at = windowStart(policy, now), used = state.used }
  end

  function law.wait(policy, state, cost, now)
    if cost <= policy.limit - state.used then
      return 0
    end
    return state.at + policy.window - now
  end

  function law.remaining(policy, state)
    return math.max(0, policy.limit - state.used)
  end

  function law.resetAfter(policy, state, now)
    return state.used > 0 and state.at + policy.window - now or 0
  end
  law.life = law.resetAfter

  function law.charge(policy, state, cost)
    return { at = state.at, used = cost > MAX - state.used and MAX or state.used + cost }
  end

  function law.refund(policy, state, cost)
    return { at = state.at, used = math.max(0, state.used - cost) }
  end

  return law
end
