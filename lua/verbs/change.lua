-- charge, refund, block, unblock and reset: they change one counter, whatever it says.

if verb == 'charge' or verb == 'refund' then
  return function(shape, first)
    for index = 1, size do
      local policy, place = shape[index], first + index
      local key, cost = keys[place], policy.cost
      local value = values[key] or stored[place] or ''
      local _, _, remaining, reset, newValue = ask(value, policy, cost, cost > 0 and verb or 'look')
      values[key] = newValue or value
      if newValue then
        lives[key] = reset
      else
        touched[key] = policy
      end
      report(place, 0, remaining, reset, 0)
    end
  end
elseif verb == 'block' or verb == 'unblock' or verb == 'reset' then
  return function(shape, first)
    for index = 1, size do
      local policy, place = shape[index], first + index
      local key = keys[place]
      local _, at, a, b, c = parts(values[key] or stored[place] or '', policy)
      if verb == 'reset' then
        at = nil
      end
      keep(key, policy, verb == 'block' and clock + policy.cost or 0, at, a, b, c)
      local wait, delay, remaining, reset = ask(values[key], policy, 1, 'look')
      report(place, wait, remaining, reset, delay)
    end
  end
end
