-- One charge of charge, refund, block, unblock or reset: they change a counter, whatever it says.
local function change(place, policy, verb)
  local cost = policy.cost
  if verb == 'charge' or verb == 'refund' then
    local _, _, remaining, reset = tell(place, policy, cost, cost > 0 and verb or 'look')
    return report(0, 0, remaining, reset)
  end
  local page, list, _, at, a, b, c = read(place, policy)
  local blockedUntil, life = verb == 'block' and clock + cost or 0, 0
  if verb == 'reset' then
    at = nil
  elseif at then
    local now = math.max(clock, at)
    life = policy.law(at, now, a, b, c, policy, 0, 'life')
    life = life > 0 and life + now - clock or 0
  end
  -- A state that says nothing any more goes; another stays as it is, also where a refusal would
  -- repair it.
  at = life > 0 and at or nil
  life = math.max(life, blockedUntil - clock)
  pages[place], lives[place] = put(page, list, policy, life, blockedUntil, at, a, b, c)
  local wait, delay, remaining, reset = ask(policy, 1, 'look', blockedUntil, at, a, b, c)
  report(wait, delay, remaining, reset)
end
