-- charge, refund, block, unblock and reset.

-- The verbs that change one counter, whatever it says.
local function change(verb, charge)
  local key, policy, cost = charge.key, charge.policy, charge.cost
  local before = valueOf(key)
  touched[key] = policy
  if verb == 'charge' or verb == 'refund' then
    local _, _, remaining, reset, needsRepair, value, life, newRemaining =
      ask(before, policy, cost, cost > 0 and verb or 'look')
    if value then
      values[key], lives[key] = value, life
      remaining, reset = newRemaining, life
    elseif needsRepair then
      repair(key, policy)
    end
    return report(1, remaining, 0, reset, 0)
  end
  local _, at, state = parts(before, policy)
  if verb == 'reset' then
    at = nil
  end
  keep(key, policy, verb == 'block' and clock + cost or 0, at, state)
  local wait, delay, remaining, reset = ask(values[key], policy, 1, 'look')
  return report(wait == 0 and 1 or 0, remaining, wait, reset, delay)
end
