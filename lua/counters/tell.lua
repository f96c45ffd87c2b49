-- Asks about a counter where it stands, and writes what is new of it.
local function tell(place, policy, cost, verb)
  local page, list, blockedUntil, at, a, b, c = read(place, policy)
  local wait, delay, remaining, reset, isNew
  wait, delay, remaining, reset, isNew, at, a, b, c = ask(policy, cost, verb, blockedUntil, at, a, b, c)
  if isNew then
    pages[place], lives[place] = put(page, list, policy, reset, blockedUntil, at, a, b, c)
  else
    lives[place] = lives[place] or false
  end
  return wait, delay, remaining, reset
end
