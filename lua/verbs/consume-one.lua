-- consume of one charge.

if verb == 'consume' and size == 1 then
  return function(shape, first)
    local policy, place = shape[1], first + 1
    local key = keys[place]
    local value = values[key] or stored[place] or ''
    local wait, delay, remaining, reset, newValue = ask(value, policy, policy.cost, 'consume')
    if newValue then
      values[key], lives[key] = newValue, reset
    else
      values[key], touched[key] = value, policy
    end
    report(place, wait, remaining, reset, delay)
  end
end
