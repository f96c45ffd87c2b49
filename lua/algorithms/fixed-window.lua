-- Fixed window. Its time is the start of the window; packed: what is used in it (7 bytes).

if name == 'fixed-window' then
  local function law(at, now, stored, _, _, policy, cost, verb)
    local limit, window = policy.limit, policy.window
    if not at or stored > MAX then
      stored = 0
    end
    if verb == 'life' then
      return stored > 0 and at + window - now or 0
    end
    local start = now - now % window
    local left = start + window - now
    local used = at == start and stored or 0
    local wait, isNew = cost <= limit - used and 0 or left, true
    if verb == 'charge' or (verb == 'consume' and wait == 0 and cost > 0) then
      used = cost > MAX - used and MAX or used + cost
    elseif verb == 'refund' then
      used = cost < used and used - cost or 0
    else
      isNew = false
    end
    return wait, 0, used < limit and limit - used or 0, used > 0 and left or 0, isNew, start, used
  end

  known = { law = law, isAligned = true, form = 'I6I7', bytes = 13 }
end
