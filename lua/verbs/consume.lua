-- consume and peek.

-- Alone a charge needs no second look.
local function decideOne(charge, isPeek)
  local key, policy = charge.key, charge.policy
  local wait, delay, remaining, reset, needsRepair, value, life, newRemaining =
    ask(valueOf(key), policy, charge.cost, isPeek and 'look' or 'consume')
  if wait == 0 and value then
    values[key], lives[key] = value, life
    remaining, reset = newRemaining, life
  elseif not isPeek then
    touched[key] = policy
    if needsRepair then
      repair(key, policy)
    end
  end
  report(wait == 0 and 1 or 0, remaining, wait, reset, delay)
end

-- All charges are decided, each on what the ones before it would leave; then all are charged or none.
local function decide(charges, size, isPeek)
  if size == 1 then
    return decideOne(charges[1], isPeek)
  end
  local seen, newValues, newLives, isRefused, isRepeated = {}, {}, {}, false, false
  for index = 1, size do
    local charge = charges[index]
    local key, cost = charge.key, charge.cost
    isRepeated, seen[key] = isRepeated or seen[key], true
    local wait, delay, remaining, reset, needsRepair, value, life, newRemaining =
      ask(newValues[key] or valueOf(key), charge.policy, cost, 'consume')
    charge.wait, charge.delay, charge.needsRepair = wait, delay, needsRepair
    charge.remaining, charge.reset = remaining, reset
    if wait ~= 0 then
      isRefused = isRefused or charge.isEnforced
    elseif value then
      charge.newRemaining, charge.newReset = newRemaining, life
      newValues[key], newLives[key] = value, life
    end
  end
  local isCharged = not isPeek and not isRefused
  for index = 1, size do
    local charge = charges[index]
    local key, policy = charge.key, charge.policy
    if isCharged and newValues[key] then
      values[key], lives[key] = newValues[key], newLives[key]
      if charge.newRemaining then
        charge.remaining, charge.reset = charge.newRemaining, charge.newReset
      end
    elseif not isPeek then
      touched[key] = policy
      if charge.needsRepair or lives[key] then
        repair(key, policy)
      end
    end
  end
  for index = 1, size do
    local charge = charges[index]
    local remaining, reset, _ = charge.remaining, charge.reset
    if isRepeated then
      _, _, remaining, reset = ask(values[charge.key], charge.policy, 0, 'look')
    end
    report(charge.wait == 0 and 1 or 0, remaining, charge.wait, reset, charge.delay)
  end
end
