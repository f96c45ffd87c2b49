-- Sliding window counter. State: "<start> <previous> <current>".

algorithms['sliding-window-counter'] = function()
  local law = { delay = noDelay }

  function law.read(raw, policy)
    local at, previous, current = string.match(raw, '^(%d+) (%d+) (%d+)$')
    at, previous, current = whole(at), whole(previous), whole(current)
    local most = math.floor(MAX / policy.window)
    if not (at and previous and current) or at % policy.window ~= 0 then
      return nil
    end
    if previous > most or current > most then
      return nil
    end
    return { at = at, previous = previous, current = current }
  end

  function law.write(state)
    return string.format('%.0f %.0f %.0f', state.at, state.previous, state.current)
  end

  function law.capacity(policy)
    return policy.limit
  end

  function law.advance(policy, state, now)
    local at = windowStart(policy, now)
    if state and state.at == at then
      return state
    end
    if state and state.at == at - policy.window then
      return { at = at, previous = state.current, current = 0 }
    end
    return { at = at, previous = 0, current = 0 }
  end

  function law.moveTo(policy, state, now)
    return { at = windowStart(policy, now), previous = state.previous, current = state.current }
  end

  function law.wait(policy, state, cost, now)
    local limit, window = policy.limit, policy.window
    local untilEdge = state.at + window - now
    local room = limit - state.current - cost
    if room >= 0 then
      if state.previous * untilEdge <= room * window then
        return 0
      end
      -- Passes in this window once previous * (time to the edge) has shrunk to room * window.
      local share = math.floor(room * window / state.previous)
      if share > 0 then
        return untilEdge - share
      end
    end
    if state.current == 0 then
      return untilEdge
    end
    -- In the next window current has become previous, and nothing is current yet.
    return untilEdge + math.max(0, window - math.floor((limit - cost) * window / state.current))
  end

  function law.remaining(policy, state, now)
    local limit, window = policy.limit, policy.window
    if state.current >= limit then
      return 0
    end
    local weighed = state.previous * (state.at + window - now)
    return math.max(0, math.floor(((limit - state.current) * window - weighed) / window))
  end

  function law.resetAfter(policy, state, now)
    if state.current > 0 then
      return state.at + 2 * policy.window - now
    end
    return state.previous > 0 and state.at + policy.window - now or 0
  end
  law.life = law.resetAfter

  local function withCurrent(state, current)
    return { at = state.at, previous = state.previous, current = current }
  end

  function law.charge(policy, state, cost)
    local most = math.floor(MAX / policy.window)
    return withCurrent(state, cost > most - state.current and most or state.current + cost)
  end

  function law.refund(policy, state, cost)
    return withCurrent(state, math.max(0, state.current - cost))
  end

  return law
end
