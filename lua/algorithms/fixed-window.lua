-- Fixed window. Its time is the start of the window; packed: what is used in it (7 bytes).

if uses['fixed-window'] then
  local function law(state, at, now, policy, cost, verb)
    local limit, window = policy.limit, policy.window
    local stored = state and unpack('<I7', state) or 0
    if stored > MAX then
      stored = 0
    end
    if verb == 'life' then
      return stored > 0 and at + window - now or 0
    end
    local start = now - now % window
    local left = start + window - now
    local used = at == start and stored or 0
    local wait = cost <= limit - used and 0 or left
    local remaining, reset = max(0, limit - used), used > 0 and left or 0

    if verb == 'charge' or (verb == 'consume' and wait == 0 and cost > 0) then
      used = cost > MAX - used and MAX or used + cost
    elseif verb == 'refund' then
      used = max(0, used - cost)
    elseif verb ~= 'repair' then
      return wait, 0, remaining, reset, false
    end
    local newRemaining, newReset = max(0, limit - used), used > 0 and left or 0
    return wait, 0, remaining, reset, false, start, pack('<I7', used), newRemaining, newReset
  end

  algorithms['fixed-window'] = { law = law, isAligned = true, bytes = 7 }
end
