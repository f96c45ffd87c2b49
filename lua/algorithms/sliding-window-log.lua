-- Sliding window log. State, packed (little-endian, widths in bytes):
--   1  `width`, the digit 1..6: bytes of a total
--   6  `at`, time of the newest entry
--   a  `mark`, the newest entry's time modulo 256^a; a is the least with 256^a >= window
--   w  `before`, the total in front of the first entry
--   w  `total`, of the newest entry
--   then (a + w) for each older entry, oldest first: its time modulo 256^a, its total
-- A total is the cost of all entries up to and with that one, modulo 256^w, so the cost of any span
-- is one subtraction and every search is binary. Ages stay under the window and spans under 256^w,
-- so the moduli lose nothing.

algorithms['sliding-window-log'] = function()
  local MAX_TOTAL = 2 ^ 48 - 1
  local law = { delay = noDelay }

  local function timeWidth(policy)
    local width = 1
    while 256 ^ width < policy.window do
      width = width + 1
    end
    return width
  end

  local function totalWidth(most)
    local width = 1
    while 256 ^ width <= most do
      width = width + 1
    end
    return width
  end

  local function used(state)
    return (state.total - state.before) % 256 ^ state.width
  end

  local function format(state)
    return '<I' .. state.timeWidth .. 'I' .. state.width
  end

  -- The time and the total of older entry `index`, counted from 0.
  local function entry(state, index)
    local size = state.timeWidth + state.width
    local mark, total = struct.unpack(format(state), state.body, state.offset + index * size + 1)
    return state.at - (state.mark - mark) % 256 ^ state.timeWidth,
      (total - state.before) % 256 ^ state.width,
      total
  end

  -- The first older entry from `first` on whose time (or total since `before`) is above `bound`.
  local function firstAbove(state, field, bound)
    local low, high = state.first, state.count
    while low < high do
      local middle = math.floor((low + high) / 2)
      if select(field, entry(state, middle)) > bound then
        high = middle
      else
        low = middle + 1
      end
    end
    return low
  end
  local TIME, SPAN = 1, 2

  local function copy(state)
    local copied = {}
    for field, value in pairs(state) do
      copied[field] = value
    end
    return copied
  end

  local function empty(policy, at)
    return {
      at = at, mark = 0, before = 0, total = 0, body = '', offset = 0, first = 0, count = 0,
      width = 1, timeWidth = timeWidth(policy),
    }
  end

  function law.read(raw, policy)
    local width = tonumber(string.match(string.sub(raw, 1, 1), '^[1-6]$'))
    local a = timeWidth(policy)
    if not width or #raw < 7 + a + 2 * width then
      return nil
    end
    local offset = 7 + a + 2 * width
    if (#raw - offset) % (a + width) ~= 0 then
      return nil
    end
    local form = '<I6I' .. a .. 'I' .. width .. 'I' .. width
    local at, mark, before, total = struct.unpack(form, raw, 2)
    -- A time after the year 3000 has a printable character as its last byte: text, and no log.
    if at >= 2 ^ 45 then
      return nil
    end
    return {
      at = at, mark = mark, before = before, total = total, body = raw, offset = offset, first = 0,
      count = (#raw - offset) / (a + width), width = width, timeWidth = a,
    }
  end

  local function older(state)
    local size = state.timeWidth + state.width
    local from, to = state.offset + state.first * size + 1, state.offset + state.count * size
    return string.sub(state.body, from, to)
  end

  function law.write(state)
    local form = '<I6I' .. state.timeWidth .. 'I' .. state.width .. 'I' .. state.width
    return state.width
      .. struct.pack(form, state.at, state.mark, state.before, state.total)
      .. older(state)
  end

  function law.capacity(policy)
    return policy.limit
  end

  function law.advance(policy, state, now)
    local horizon = now - policy.window
    if not state or state.at <= horizon then
      return empty(policy, now)
    end
    local first = firstAbove(state, TIME, horizon)
    if first == state.first then
      return state
    end
    local advanced = copy(state)
    advanced.before = select(3, entry(state, first - 1))
    advanced.first = first
    return advanced
  end

  function law.moveTo(policy, state, now)
    local moved = copy(state)
    moved.at = now
    return moved
  end

  function law.wait(policy, state, cost, now)
    local excess = used(state) + cost - policy.limit
    if excess <= 0 then
      return 0
    end
    local last = firstAbove(state, SPAN, excess - 1)
    local leaves = last < state.count and entry(state, last) or state.at
    return leaves + policy.window - now
  end

  function law.remaining(policy, state)
    return math.max(0, policy.limit - used(state))
  end

  function law.resetAfter(policy, state, now)
    return used(state) > 0 and state.at + policy.window - now or 0
  end
  law.life = law.resetAfter

  -- The same entries with totals of `width` bytes, counted from `before`.
  local function widened(state, width)
    local packed = {}
    local form = '<I' .. state.timeWidth .. 'I' .. width
    for index = state.first, state.count - 1 do
      local time, span = entry(state, index)
      local mark = (state.mark - (state.at - time)) % 256 ^ state.timeWidth
      packed[#packed + 1] = struct.pack(form, mark, span)
    end
    local wide = copy(state)
    wide.total, wide.before, wide.width = used(state), 0, width
    wide.body, wide.offset, wide.first, wide.count = table.concat(packed), 0, 0, #packed
    return wide
  end

  function law.charge(policy, state, cost, now)
    local span = math.min(MAX_TOTAL, used(state) + math.min(cost, MAX_TOTAL))
    if span == used(state) then
      return state
    end
    local width = totalWidth(math.min(MAX_TOTAL, math.max(policy.limit, span)))
    local charged = state.width < width and widened(state, width) or copy(state)
    -- Entries of one millisecond leave together, so they are kept as one.
    if used(charged) > 0 and charged.at < now then
      local entries = older(charged) .. struct.pack(format(charged), charged.mark, charged.total)
      charged.count = charged.count - charged.first + 1
      charged.body, charged.offset, charged.first = entries, 0, 0
      charged.mark = (charged.mark + now - charged.at) % 256 ^ charged.timeWidth
    end
    charged.at = now
    charged.total = (charged.before + span) % 256 ^ charged.width
    return charged
  end

  function law.refund(policy, state, cost)
    local left = used(state) - cost
    if left <= 0 then
      return empty(policy, state.at)
    end
    local refunded = copy(state)
    local newest = firstAbove(state, SPAN, left - 1)
    if newest < state.count then
      local time = entry(state, newest)
      refunded.mark = (state.mark - (state.at - time)) % 256 ^ state.timeWidth
      refunded.at = time
      refunded.count = newest
    end
    refunded.total = (state.before + left) % 256 ^ state.width
    return refunded
  end

  return law
end
