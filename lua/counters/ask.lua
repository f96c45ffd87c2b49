-- Asks a law about a counter, and adds what is common to all: a clock that is behind, a block, a cost
-- of 0 or over the capacity. Returns <wait> <delay> <remaining> <reset> <isNew> as a law does, then
-- the counter as it is to be written: without a time when it says nothing any more.
local function ask(policy, cost, verb, blockedUntil, at, a, b, c)
  local now, isMoved = clock, false
  if at and at > clock then
    if at - clock > policy.window then
      -- No clock that we can trust made it: its amounts are kept, its time is put right.
      at, isMoved = policy.kind.isAligned and clock - clock % policy.window or clock, true
    else
      now = at
    end
  end
  local isBlocked = blockedUntil > clock
  if verb == 'consume' and (isBlocked or cost > policy.capacity) then
    verb = 'look'
  end

  local wait, delay, remaining, reset, isNew, newAt, newA, newB, newC =
    policy.law(at, now, a, b, c, policy, cost, verb)
  -- A full quota has nothing to put right, and writing it would forget what other numbers hold.
  isNew = isNew or (isMoved and reset > 0)
  if now > clock then
    local behind = now - clock
    wait, reset = wait > 0 and wait + behind or 0, reset > 0 and reset + behind or 0
  end
  if reset == 0 then
    newAt = nil
  end
  if isBlocked then
    local blocked = blockedUntil - clock
    wait, remaining = wait > blocked and wait or blocked, 0
    reset = reset > blocked and reset or blocked
  end
  if cost == 0 then
    wait, delay = 0, 0
  elseif cost > policy.capacity then
    wait, delay = -1, 0
  elseif wait > 0 then
    delay = 0
  end
  return wait, delay, remaining, reset, isNew, newAt, newA, newB, newC
end
