-- What a law says about a value, with what all laws have in common.

-- Asks a law about a value, and adds what is common to all: a clock that is behind, a block, a cost
-- of 0 or over the capacity. Returns what a law does, with the new value and its life for the new
-- state.
local function ask(value, policy, cost, verb)
  local blockedUntil, at, state = parts(value, policy)
  local now, isMoved = clock, false
  if at and at > clock then
    if at - clock > policy.window then
      -- No clock that we can trust made it: its amounts are kept, its time is put right.
      at = policy.isAligned and clock - clock % policy.window or clock
      isMoved = true
    else
      now = at
    end
  end
  local wait, delay, remaining, reset, isOutdated, newAt, newState, newRemaining, newReset =
    policy.law(state, at, now, policy, cost, verb)

  local behind, blocked = now - clock, max(0, blockedUntil - clock)
  -- A full quota has nothing to put right, and writing it would forget what other numbers hold.
  local needsRepair = (isMoved or isOutdated) and reset > 0
  reset = max(reset > 0 and reset + behind or 0, blocked)
  if blocked > 0 then
    remaining = 0
  end
  if cost == 0 then
    wait, delay = 0, 0
  elseif cost > policy.capacity then
    wait, delay = -1, 0
  elseif wait > 0 or blocked > 0 then
    wait, delay = max(wait > 0 and wait + behind or 0, blocked), 0
  end
  if not newAt then
    return wait, delay, remaining, reset, needsRepair
  end
  local life = newReset > 0 and newReset + behind or 0
  local newValue = valueWith(blockedUntil, life > 0 and newAt or nil, newState)
  life = max(life, blocked)
  return wait, delay, remaining, reset, needsRepair, newValue, life, blocked > 0 and 0 or newRemaining
end

local function repair(key, policy)
  local _, _, _, _, needsRepair, value, life = ask(values[key], policy, 0, 'repair')
  -- An earlier charge may have put the same counter right, for its own numbers.
  if needsRepair then
    values[key], lives[key] = value, life
  end
end
