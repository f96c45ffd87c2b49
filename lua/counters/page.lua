-- The counters of a page, in their order: tables of their field, the bytes of their state, whether a
-- block stands in front, when they say nothing any more, where they begin, their state, and the next.
-- Only the counter of `own` may go to the end of the page, and only if it begins it; without `own`
-- any may. What is malformed, or stands there twice, is none, and neither is what follows it.
local function countersIn(page, own)
  local list, seen, at, after = {}, {}, 1, #page + 1
  while at + 11 <= after do
    local field, mark, till = unpack('<I4BI6', page, at)
    local isBlocked = mark > REST
    local start, length = isBlocked and at + 17 or at + 11, isBlocked and mark - 128 or mark
    local next = start + length
    if length == REST then
      next = at == 1 and (not own or own.field == field) and after or after + 1
    end
    if start > after or next > after or till >= FAR or seen[field] then
      break
    end
    seen[field] = true
    list[#list + 1] = {
      field = field, length = length, isBlocked = isBlocked, till = till, at = at, start = start, next = next,
    }
    at = next
  end
  return list
end

-- How long a page is to be kept.
local function lifeOf(page)
  local till = clock
  for _, counter in ipairs(countersIn(page)) do
    till = math.max(till, counter.till)
  end
  return till - clock
end

-- Where the counters of a page are, by field, all as they stand that are not among those of a shape
-- from the first of that page on, and when the last of these says nothing any more.
local function layout(page, shape, first)
  local positions, others, till, own = {}, {}, 0, {}
  for index = first, shape.size do
    own[shape[index].field] = true
    if shape[index].isLast then
      break
    end
  end
  for _, counter in ipairs(countersIn(page, shape[first])) do
    if own[counter.field] then
      positions[counter.field] = counter.at
    elseif counter.till + SKEW_MS > clock then
      others[#others + 1] = string.sub(page, counter.at, counter.next - 1)
      till = math.max(till, counter.till)
    end
  end
  return positions, concat(others), till
end

-- A page, the counters in it, and of that of a policy the end of its block, its time, and what its
-- algorithm packed. Malformed counts as absent.
local function read(place, policy)
  local kind, page = policy.kind, pages[place] or ''
  local list = countersIn(page, policy)
  for _, counter in ipairs(list) do
    if counter.field == policy.field then
      local blockedUntil = counter.isBlocked and unpack('<I6', page, counter.at + 11) or 0
      if counter.length ~= (policy.bytes or REST) or counter.next < counter.start + 6 then
        return page, list, blockedUntil
      end
      local time, a, b, c = unpack('<' .. kind.form, page, counter.start)
      if time >= FAR or (kind.isAligned and time % policy.window ~= 0) then
        return page, list, blockedUntil
      end
      return page, list, blockedUntil, time, policy.bytes and a or string.sub(page, counter.start + 6), b, c
    end
  end
  return page, list, 0
end

-- A page with another counter of a policy, without those that have been over for a while, and how long
-- it is to be kept.
local function put(page, list, policy, life, blockedUntil, time, a, b, c)
  -- A quota may take longer to fill than there are times; its value goes in the year 3084.
  local till = math.min(clock + life, FAR - 1)
  local new, length, form = '', time and (policy.bytes or REST) or 0, policy.kind.form
  if blockedUntil > clock then
    new = pack('<I4BI6I6', policy.field, 128 + length, till, blockedUntil)
    new = time and new .. pack('<' .. form, time, a, b, c) or new
  elseif time then
    new = pack('<I4BI6' .. form, policy.field, length, till, time, a, b, c)
  else
    till = clock
  end
  if not policy.bytes then
    -- It goes to the end of its page, so nothing else can be there.
    return time and new .. a or new, till - clock
  end
  local pieces, isThere = {}, false
  for index, counter in ipairs(list) do
    if counter.field == policy.field then
      pieces[index], isThere = new, true
    elseif counter.till + SKEW_MS > clock then
      pieces[index], till = string.sub(page, counter.at, counter.next - 1), math.max(till, counter.till)
    else
      pieces[index] = ''
    end
  end
  page = concat(pieces)
  return isThere and page or page .. new, till - clock
end
