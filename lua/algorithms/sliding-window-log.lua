-- Sliding window log. Its time is that of the newest entry. Packed (widths in bytes):
--   1  `width` of a total, 1 to 6
--   a  `mark`, the newest entry's time modulo 256^a; a is the least with 256^a >= window
--   w  `before`, the total in front of the first entry
--   w  `total`, of the newest entry
--   then (a + w) for each older entry, oldest first: its time modulo 256^a, its total
-- A total is the cost of all entries up to and with that one, modulo 256^w, so the cost of any span
-- is one subtraction and every search is binary. Ages stay under the window and spans under 256^w,
-- so the moduli lose nothing.

if name == 'sliding-window-log' then
  local max, sub = math.max, string.sub
  local MAX_TOTAL = 281474976710655

  local function law(at, now, state, _, _, policy, cost, verb)
    local limit, window = policy.limit, policy.window
    state = at and state
    local timeWidth = 1
    while 256 ^ timeWidth < window do
      timeWidth = timeWidth + 1
    end
    local timeRange = 256 ^ timeWidth

    local width, mark, before, total, offset, first, count = 1, 0, 0, 0, 0, 0, 0
    local range, size, form
    local function setWidth(bytesOfTotal)
      width, range, size = bytesOfTotal, 256 ^ bytesOfTotal, timeWidth + bytesOfTotal
      form = '<I' .. timeWidth .. 'I' .. width
    end
    setWidth(1)

    local stored = state and string.byte(state) or 0
    local header = 1 + timeWidth + 2 * stored
    if stored >= 1 and stored <= 6 and #state >= header
      and (#state - header) % (timeWidth + stored) == 0 then
      setWidth(stored)
      mark, before, total = unpack('<I' .. timeWidth .. 'I' .. width .. 'I' .. width, state, 2)
      offset, count = header, (#state - header) / size
    end
    local used = (total - before) % range
    if verb == 'life' then
      return used > 0 and at + window - now or 0
    end

    -- The age of older entry `index` (from 0) at the newest one, the span of costs from the first live
    -- entry up to and with it, and its total as it is packed.
    local function entry(index)
      local entryMark, entryTotal = unpack(form, state, offset + index * size + 1)
      return (mark - entryMark) % timeRange, (entryTotal - before) % range, entryTotal
    end
    -- The first older entry for which `matches` holds; it holds for all after that one.
    local function firstThat(matches)
      local low, high = first, count
      while low < high do
        local middle = floor((low + high) / 2)
        if matches(entry(middle)) then
          high = middle
        else
          low = middle + 1
        end
      end
      return low
    end

    if used == 0 or at <= now - window then
      at, used, before, total, first, count = now, 0, 0, 0, 0, 0
    else
      local oldest = at - now + window
      first = firstThat(function(age)
        return age < oldest
      end)
      if first > 0 then
        local _, _, gone = entry(first - 1)
        before = gone
        used = (total - before) % range
      end
    end

    local wait = 0
    local excess = used + cost - limit
    if excess > 0 and cost <= limit then
      local last = firstThat(function(_, span)
        return span >= excess
      end)
      -- At least 1, whatever a damaged entry says of its age.
      wait = max(1, at + window - now - (last < count and entry(last) or 0))
    end

    local older = state and sub(state, offset + first * size + 1, offset + count * size) or ''
    local isNew = true
    if verb == 'charge' or (verb == 'consume' and wait == 0 and cost > 0) then
      local span = cost > MAX_TOTAL - used and MAX_TOTAL or used + cost
      local most, wide = math.min(MAX_TOTAL, max(limit, span)), width
      while 256 ^ wide <= most do
        wide = wide + 1
      end
      if wide > width then
        -- The same entries with wider totals, counted from the first.
        local packed, entries = '<I' .. timeWidth .. 'I' .. wide, {}
        for index = first, count - 1 do
          local age, entrySpan = entry(index)
          entries[#entries + 1] = pack(packed, (mark - age) % timeRange, entrySpan)
        end
        older, before, total = table.concat(entries), 0, used
        setWidth(wide)
      end
      isNew = span > used
      if isNew then
        -- Entries of one millisecond leave together, so they are kept as one.
        if used > 0 and at < now then
          older = older .. pack(form, mark, total)
          mark = (mark + now - at) % timeRange
        end
        at, used, total = now, span, (before + span) % range
      end
    elseif verb == 'refund' then
      local left = max(0, used - cost)
      if left > 0 then
        local newest = firstThat(function(_, span)
          return span >= left
        end)
        if newest < count then
          local age = entry(newest)
          at, mark = at - age, (mark - age) % timeRange
          older = sub(older, 1, (newest - first) * size)
        end
      end
      used, total = left, (before + left) % range
    else
      isNew = false
    end
    local packed = state
    if isNew then
      packed = pack('<BI' .. timeWidth .. 'I' .. width .. 'I' .. width, width, mark, before, total) .. older
    end
    return wait, 0, max(0, limit - used), used > 0 and at + window - now or 0, isNew, at, packed
  end

  known = { law = law, form = 'I6' }
end
