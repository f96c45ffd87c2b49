-- charge, refund, block, unblock and reset: they change one counter, whatever it says.

local function change(verb, policy, place)
  local key, cost = keys[place], policy.cost
  local value = values[key] or stored[place] or ''
  if verb == 'charge' or verb == 'refund' then
    local _, _, remaining, reset, newValue = ask(value, policy, cost, cost > 0 and verb or 'look')
    values[key] = newValue or value
    if newValue then
      lives[key] = reset
    else
      touched[key] = policy
    end
    return report(place, 0, remaining, reset, 0)
  end
  local _, at, a, b, c = parts(value, policy)
  if verb == 'reset' then
    at = nil
  end
  keep(key, policy, verb == 'block' and clock + cost or 0, at, a, b, c)
  local wait, delay, remaining, reset = ask(values[key], policy, 1, 'look')
  report(place, wait, remaining, reset, delay)
end
