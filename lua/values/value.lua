-- The value of a key, and its parts.

-- Values as they are now, by key: read when first asked for, written at the end if they have a new
-- life. A foreign type counts as absent, and is overwritten.
local values, exists, lives, touched = {}, {}, {}, {}

local function valueOf(key)
  local value = values[key]
  if not value then
    local raw = redis.pcall('GET', keys[key])
    if type(raw) == 'table' and sub(raw.err, 1, 9) ~= 'WRONGTYPE' then
      raw = call('GET', keys[key])
    end
    exists[key] = raw ~= false
    value = type(raw) == 'string' and raw or ''
    values[key] = value
  end
  return value
end

-- The parts of a value: the end of its block, its time, its state. Malformed counts as absent.
local function parts(value, policy)
  local mark, blockedUntil, start = byte(value), 0, 2
  if mark == 1 and #value >= 7 then
    blockedUntil, start = unpack('<I6', value, 2)
  elseif mark ~= 0 then
    return 0
  end
  local length = #value - start - 5
  if length < 1 or (policy.bytes and length ~= policy.bytes) then
    return blockedUntil
  end
  local at = unpack('<I6', value, start)
  -- A time after the year 3000 has a printable character as its last byte: text, and no state.
  if at >= 35184372088832 or (policy.isAligned and at % policy.window ~= 0) then
    return blockedUntil
  end
  return blockedUntil, at, sub(value, start + 6)
end

local function valueWith(blockedUntil, at, state)
  if blockedUntil <= clock then
    return at and pack('<BI6', 0, at) .. state or ''
  end
  return at and pack('<BI6I6', 1, blockedUntil, at) .. state or pack('<BI6', 1, blockedUntil)
end

-- Writes a value anew, with another block. A state that says nothing any more goes; another stays
-- as it is, also where a refusal would repair it.
local function keep(key, policy, blockedUntil, at, state)
  local life = 0
  if at then
    local now = max(clock, at)
    life = policy.law(state, at, now, policy, 0, 'life')
    life = life > 0 and life + now - clock or 0
  end
  values[key] = valueWith(blockedUntil, life > 0 and at or nil, state)
  lives[key] = max(life, blockedUntil - clock, 0)
end
