-- The value of a key, and its parts.

-- Values as they were read, by place; as they are now, by key; and how long those are kept that are
-- written at the end. `touched` has the policies of the keys that were looked at.
local stored
local values, lives, touched = {}, {}, {}

-- The parts of a value: the end of its block, its time, what its algorithm packed. Malformed counts
-- as absent.
local function parts(value, policy)
  local mark, blockedUntil = string.byte(value), 0
  if mark == 1 and #value >= 7 then
    blockedUntil = unpack('<I6', value, 2)
    value = '\0' .. string.sub(value, 8)
  elseif mark ~= 0 then
    return 0
  end
  local bytes = policy.bytes
  if #value ~= (bytes or #value) or #value < 8 then
    return blockedUntil
  end
  local _, at, a, b, c = unpack(policy.form, value)
  -- A time after the year 3000 has a printable character as its last byte: text, and no state.
  if at >= 35184372088832 or (policy.isAligned and at % policy.window ~= 0) then
    return blockedUntil
  end
  return blockedUntil, at, bytes and a or string.sub(value, 8), b, c
end

local function valueOf(policy, blockedUntil, at, a, b, c)
  local value = ''
  if at then
    value = pack(policy.form, 0, at, a, b, c)
    if not policy.bytes then
      value = value .. a
    end
  end
  return blockedUntil > clock and pack('<BI6', 1, blockedUntil) .. string.sub(value, 2) or value
end

-- Writes a value anew, with another block. A state that says nothing any more goes; another stays
-- as it is, also where a refusal would repair it.
local function keep(key, policy, blockedUntil, at, a, b, c)
  local life = 0
  if at then
    local now = math.max(clock, at)
    life = policy.law(at, now, a, b, c, policy, 0, 'life')
    life = life > 0 and life + now - clock or 0
  end
  values[key] = valueOf(policy, blockedUntil, life > 0 and at or nil, a, b, c)
  lives[key] = math.max(life, blockedUntil - clock, 0)
end
