-- Several charges, all or none, or to peek at them: each is decided on what the ones before it leave,
-- then all stay charged or none does.
local function several(shape, isConsume)
  local size = shape.size
  -- What the charges of an operation found, by index; by counter, the operation that last charged it.
  local found, oldPages, oldLives, waits, delays, charged = {}, {}, {}, {}, {}, {}
  -- By place, the operation that last had it.
  local by = {}
  -- Whether a page has the same counter twice.
  local isTwice, fields = false, {}
  for index = 1, size do
    local field = shape[index].field
    fields = shape[index].isJoined and fields or {}
    isTwice, fields[field] = isTwice or fields[field] == true, true
  end

  -- What is left of each as it stands. Where nothing was charged, what has to be put right is.
  local function lookAgain(first, isRepairing)
    for index = 1, size do
      local policy, place = shape[index], found[index]
      local page, list, blockedUntil, at, a, b, c = read(place, policy)
      local _, _, remaining, reset, isNew, newAt, newA, newB, newC =
        ask(policy, policy.cost, 'look', blockedUntil, at, a, b, c)
      if isRepairing and charged[place * 4294967296 + policy.field] ~= first then
        if isNew then
          pages[place], lives[place] = put(page, list, policy, reset, blockedUntil, newAt, newA, newB, newC)
        else
          lives[place] = lives[place] or false
        end
      end
      report(waits[index], delays[index], remaining, reset)
    end
  end

  return function(first)
    local isCharged, isRepeated, isAmiss = isConsume, isTwice, false
    local before, position, place = said, first
    for index = 1, size do
      local policy = shape[index]
      local cost = policy.cost
      if not policy.isJoined then
        position = position + 1
        place = placeOf(position)
        isRepeated, by[place] = isRepeated or by[place] == first, first
      end
      local page, list, blockedUntil, at, a, b, c = read(place, policy)
      local wait, delay, remaining, reset, isNew
      wait, delay, remaining, reset, isNew, at, a, b, c = ask(policy, cost, 'consume', blockedUntil, at, a, b, c)
      found[index], oldPages[index], oldLives[index], waits[index], delays[index] =
        place, page, lives[place], wait, delay
      if isNew and wait == 0 and cost > 0 then
        charged[place * 4294967296 + policy.field] = first
        pages[place], lives[place] = put(page, list, policy, reset, blockedUntil, at, a, b, c)
      else
        isAmiss = true
        isCharged = isCharged and (wait == 0 or not policy.isEnforced)
      end
      report(wait, delay, remaining, reset)
    end
    if not isCharged then
      for index = size, 1, -1 do
        place = found[index]
        pages[place], lives[place] = oldPages[index], oldLives[index]
        charged[place * 4294967296 + shape[index].field] = nil
      end
    end
    if isAmiss or not isCharged then
      said = before
      lookAgain(first, isConsume)
    end
    if isRepeated then
      said = before
      lookAgain(first, false)
    end
  end
end
