-- Asks a law about a value, and adds what is common to all: a clock that is behind, a block, a cost
-- of 0 or over the capacity. Returns <wait> <delay> <remaining> <reset> as a law does, and the new
-- value if there is one to write, which lives until its reset.
local function ask(value, policy, cost, verb)
  local blockedUntil, mark, at, a, b, c = 0
  if #value == policy.bytes then
    mark, at, a, b, c = unpack(policy.form, value)
  end
  if value ~= '' and (mark ~= 0 or at >= 35184372088832) then
    blockedUntil, at, a, b, c = parts(value, policy)
  end
  local now, isMoved = clock, false
  if at and at > clock then
    if policy.isAligned and at % policy.window ~= 0 then
      at = nil
    elseif at - clock > policy.window then
      -- No clock that we can trust made it: its amounts are kept, its time is put right.
      at, isMoved = policy.isAligned and clock - clock % policy.window or clock, true
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
  local keptAt = reset > 0 and newAt or nil
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
  if isNew then
    return wait, delay, remaining, reset, valueOf(policy, blockedUntil, keptAt, newA, newB, newC)
  end
  return wait, delay, remaining, reset
end
