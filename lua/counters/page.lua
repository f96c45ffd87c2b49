-- Where the counters of a page are, by field, and all as they stand that are not among those of a shape
-- from the first of that page on; nil where it is no page, or is no list of counters of known length.
local function layout(page, shape, first)
  local at, after, positions, others, own = 7, #page + 1, {}, '', {}
  for index = first, shape.size do
    own[shape[index].field] = true
    if shape[index].isLast then
      break
    end
  end
  if after < 12 or unpack('<I6', page) >= FAR then
    return nil
  end
  while at < after do
    if at + 5 > after then
      return nil
    end
    local field, length = unpack('<I4B', page, at)
    local next = at + 5 + length
    if length >= REST or next > after or positions[field] then
      return nil
    end
    positions[field] = at
    if not own[field] then
      others = others .. string.sub(page, at, next - 1)
    end
    at = next
  end
  return positions, others
end

-- A counter in a page: where it begins and where the next one does; the end of its block, its time,
-- what its algorithm packed. Malformed counts as absent.
local function find(page, policy)
  local kind, at, after, bytes = policy.kind, 7, #page + 1, policy.bytes or REST
  while at + 5 <= after do
    local field, length = unpack('<I4B', page, at)
    local isBlocked = length > REST
    local start = isBlocked and at + 11 or at + 5
    length = isBlocked and length - 128 or length
    local next = length == REST and after or start + length
    if next > after or start > after then
      break
    end
    if field == policy.field then
      local blockedUntil = isBlocked and unpack('<I6', page, at + 5) or 0
      if length ~= bytes or next < start + 6 then
        return at, next, blockedUntil
      end
      local time, a, b, c = unpack('<' .. kind.form, page, start)
      if time >= FAR or (kind.isAligned and time % policy.window ~= 0) then
        return at, next, blockedUntil
      end
      return at, next, blockedUntil, time, length == REST and string.sub(page, start + 6) or a, b, c
    end
    at = next
  end
  -- What follows here is nothing, or no counter.
  return at, after, 0
end

-- A page as it is now, and where in it a counter is, as `find` says; what is no page is an empty one.
local function read(place, policy)
  local page = pages[place] or ''
  if policy.bytes and #page == 11 + policy.bytes then
    local till, field, length, time, a, b, c = unpack('<I6I4B' .. policy.kind.form, page)
    if field == policy.field and length == policy.bytes and time < FAR and till < FAR then
      return page, 7, #page + 1, 0, time, a, b, c
    end
  end
  if #page < 11 or unpack('<I6', page) >= FAR then
    return '', 7, 1, 0
  end
  return page, find(page, policy)
end

-- A page with another counter from `start` to before `next`, and how long it is kept: as long as the
-- counter has something to say, and what else was there.
local function put(page, start, next, policy, life, blockedUntil, time, a, b, c)
  local isAlone, till = start <= 7 and next > #page, clock + life
  -- A quota may take longer to fill than there are times; its value goes in the year 3084.
  till = till < FAR and till or FAR - 1
  local counter, length = '', time and (policy.bytes or REST) or 0
  if isAlone and time and length < REST and blockedUntil <= clock then
    return pack('<I6I4B' .. policy.kind.form, till, policy.field, length, time, a, b, c), till - clock
  end
  if blockedUntil > clock then
    counter = pack('<I4BI6', policy.field, 128 + length, blockedUntil)
    if time then
      counter = counter .. pack('<' .. policy.kind.form, time, a, b, c)
    end
  elseif time then
    counter = pack('<I4B' .. policy.kind.form, policy.field, length, time, a, b, c)
  end
  if length == REST then
    counter = counter .. a
  end
  if isAlone and counter == '' then
    return '', 0
  end
  if not isAlone then
    till = math.max(till, unpack('<I6', page))
  end
  page = pack('<I6', till) .. string.sub(page, 7, start - 1) .. counter .. string.sub(page, next)
  if counter == '' then
    -- Of a damaged page nothing may come to light that stood behind it.
    local other, after = find(page, policy)
    if other < after then
      return put(page, other, after, policy, 0, 0)
    end
  end
  return page, till - clock
end
