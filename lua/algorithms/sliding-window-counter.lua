-- Sliding window counter. Its time is the start of the current window; packed: what was used in the
-- window before and in this one (7 bytes each).

if uses['sliding-window-counter'] then
  local function law(state, at, now, policy, cost, verb)
    local limit, window = policy.limit, policy.window
    local most = floor(MAX / window)
    local start = now - now % window
    local left = start + window - now
    local previous, current = 0, 0
    if state then
      previous, current = unpack('<I7I7', state)
      if previous > most or current > most then
        previous, current = 0, 0
      end
      if verb == 'life' then
        return current > 0 and at + 2 * window - now or previous > 0 and at + window - now or 0
      elseif at == start - window then
        previous, current = current, 0
      elseif at ~= start then
        previous, current = 0, 0
      end
    end

    local function remainingNow()
      if current >= limit then
        return 0
      end
      return max(0, floor(((limit - current) * window - previous * left) / window))
    end
    local function resetNow()
      return current > 0 and left + window or previous > 0 and left or 0
    end
    -- Until previous * (time to the edge) has shrunk to the room there is, in this window or the next.
    local function waitNow()
      local room = limit - current - cost
      if room >= 0 then
        if previous * left <= room * window then
          return 0
        end
        local share = floor(room * window / previous)
        if share > 0 then
          return left - share
        end
      end
      if current == 0 then
        return left
      end
      return left + max(0, window - floor((limit - cost) * window / current))
    end

    local wait, remaining, reset = waitNow(), remainingNow(), resetNow()
    if verb == 'charge' or (verb == 'consume' and wait == 0 and cost > 0) then
      current = cost > most - current and most or current + cost
    elseif verb == 'refund' then
      current = max(0, current - cost)
    elseif verb ~= 'repair' then
      return wait, 0, remaining, reset, false
    end
    local packed = pack('<I7I7', previous, current)
    return wait, 0, remaining, reset, false, start, packed, remainingNow(), resetNow()
  end

  algorithms['sliding-window-counter'] = { law = law, isAligned = true, bytes = 14 }
end
