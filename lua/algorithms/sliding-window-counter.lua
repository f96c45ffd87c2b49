-- Sliding window counter. Its time is the start of the current window; packed: what was used in the
-- window before and in this one (7 bytes each).

if name == 'sliding-window-counter' then
  local function law(at, now, previous, current, _, policy, cost, verb)
    local limit, window = policy.limit, policy.window
    local most = floor(MAX / window)
    local start = now - now % window
    local left = start + window - now
    if not at or previous > most or current > most then
      previous, current = 0, 0
    elseif verb == 'life' then
      return current > 0 and at + 2 * window - now or previous > 0 and at + window - now or 0
    elseif at == start - window then
      previous, current = current, 0
    elseif at ~= start then
      previous, current = 0, 0
    end

    -- Until previous * (time to the edge) has shrunk to the room there is, in this window or the next.
    local room, wait = limit - current - cost
    if room >= 0 and previous * left <= room * window then
      wait = 0
    else
      local share = room >= 0 and floor(room * window / previous) or 0
      if share > 0 then
        wait = left - share
      elseif current == 0 then
        wait = left
      else
        wait = left + math.max(0, window - floor((limit - cost) * window / current))
      end
    end

    local isNew = true
    if verb == 'charge' or (verb == 'consume' and wait == 0 and cost > 0) then
      current = cost > most - current and most or current + cost
    elseif verb == 'refund' then
      current = cost < current and current - cost or 0
    else
      isNew = false
    end
    local remaining = current < limit and floor(((limit - current) * window - previous * left) / window) or 0
    local reset = current > 0 and left + window or previous > 0 and left or 0
    return wait, 0, remaining > 0 and remaining or 0, reset, isNew, start, previous, current
  end

  known = { law = law, isAligned = true, form = 'I6I7I7', bytes = 20 }
end
