-- consume of several charges, all or none, and peek.

if (verb == 'consume' and size > 1) or verb == 'peek' then
  local isConsume = verb == 'consume'
  -- What the charges of an operation found, by index.
  local oldValues, oldLives, waits, delays = {}, {}, {}, {}
  -- By key, the operation that last had it, and the one that last charged it.
  local by, charged = {}, {}

  -- What is left of each as it stands. Where nothing was charged, what has to be put right is.
  local function lookAgain(shape, first, isRepairing)
    for index = 1, size do
      local policy, place = shape[index], first + index
      local key = keys[place]
      local _, _, remaining, reset, newValue = ask(values[key], policy, policy.cost, 'look')
      if isRepairing and charged[key] ~= first then
        touched[key] = policy
        if newValue then
          values[key], lives[key] = newValue, reset
        end
      end
      report(place, waits[index], remaining, reset, delays[index])
    end
  end

  -- Each charge is decided on what the ones before it leave; then all stay charged or none does.
  return function(shape, first)
    local isCharged, isRepeated, isAmiss = isConsume, false, false
    for index = 1, size do
      local policy, place = shape[index], first + index
      local key, cost = keys[place], policy.cost
      local value = values[key] or stored[place] or ''
      local wait, delay, remaining, reset, newValue = ask(value, policy, cost, 'consume')
      isRepeated, by[key] = isRepeated or by[key] == first, first
      oldValues[index], oldLives[index], waits[index], delays[index] = value, lives[key], wait, delay
      if newValue and wait == 0 and cost > 0 then
        values[key], lives[key], charged[key] = newValue, reset, first
      else
        values[key], isAmiss = value, true
        isCharged = isCharged and (wait == 0 or not policy.isEnforced)
      end
      report(place, wait, remaining, reset, delay)
    end
    if not isCharged then
      for index = size, 1, -1 do
        local key = keys[first + index]
        values[key], lives[key], charged[key] = oldValues[index], oldLives[index], nil
      end
    end
    if isAmiss or not isCharged then
      lookAgain(shape, first, isConsume)
    end
    if isRepeated then
      lookAgain(shape, first, false)
    end
  end
end
