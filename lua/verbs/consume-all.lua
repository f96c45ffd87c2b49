-- consume of several charges, all or none, and peek.

if (verb == 'consume' and size > 1) or verb == 'peek' then
  local isConsume = verb == 'consume'
  -- Whether each may simply pass, and how long each page is that has nothing else in it.
  local isUsual, members = isConsume, 0
  for index = size, 1, -1 do
    local policy = shape[index]
    members = members + 1
    isUsual = isUsual and policy.bytes and policy.cost > 0 and policy.cost <= policy.capacity and members <= 16
    for later = index + 1, isUsual and index + members - 1 or 0 do
      isUsual = isUsual and shape[later].field ~= policy.field
    end
    if isUsual then
      policy.isLast = members == 1
      policy.whole = 5 + policy.bytes + (members == 1 and 6 or shape[index + 1].whole)
      policy.form = (policy.isJoined or members > 1) and '<I4B' .. policy.kind.form or '<I6I4B' .. policy.kind.form
    end
    members = policy.isJoined and members or 0
  end

  -- What each page was: its place, itself, how long it was kept; the counters of one that has several.
  local olds, counters = {}, {}
  local carefully

  act = function(position)
    local before, first, passes, count = said, position, isUsual, 0
    local place, page, from, at, life, member, positions, others
    for index = 1, passes and size or 0 do
      local policy = shape[index]
      local isAlone = false
      if not policy.isJoined then
        isAlone, position = policy.isLast, position + 1
        place = placeOf(position)
        page, from, at, life, member, positions, others = pages[place] or '', index, 7, 0, 0, nil, ''
        if place < position then
          for other = 1, count, 3 do
            passes = passes and olds[other] ~= place
          end
        end
      end
      local field, bytes, form = policy.field, policy.bytes, policy.form
      local foundField, length, time, a, b, c, _
      if page == '' or not passes then
        foundField, length = field, bytes
      elseif isAlone then
        if #page == policy.whole then
          _, foundField, length, time, a, b, c = unpack(form, page)
        end
      else
        -- Mostly a page has what this shape of operation has put there, in its order.
        if not positions and #page > at + 4 + bytes then
          foundField, length, time, a, b, c = unpack(form, page, at)
          at = at + 5 + bytes
        end
        if foundField ~= field then
          if not positions then
            positions, others = careful().layout(page, shape, from)
          end
          foundField, length, time, a = field, bytes, nil, nil
          if positions and positions[field] then
            _, length, time, a, b, c = unpack(form, page, positions[field])
          end
          passes = positions
        elseif policy.isLast then
          others = string.sub(page, at)
        end
      end
      if not passes or foundField ~= field or length ~= bytes or (time and time > clock) then
        passes = false
        break
      end
      local wait, delay, remaining, reset
      wait, delay, remaining, reset, _, time, a, b, c =
        policy.law(time, clock, a, b, c, policy, policy.cost, 'consume')
      life = reset > life and reset or life
      if wait > 0 or reset == 0 or clock + life >= FAR then
        passes = false
        break
      end
      if delay == 0 and remaining + reset < BIG then
        reply[said + 1], reply[said + 2] = remaining, reset
        said = said + 2
      else
        report(0, delay, remaining, reset)
      end
      if policy.isLast and index < size then
        olds[count + 1], olds[count + 2], olds[count + 3] = place, pages[place], lives[place]
        count = count + 3
      end
      if isAlone then
        pages[place], lives[place] = pack(form, clock + life, field, bytes, time, a, b, c), life
      else
        member = member + 1
        counters[member] = pack(form, field, bytes, time, a, b, c)
      end
      if policy.isLast and not isAlone then
        if others ~= '' then
          local till = unpack('<I6', page)
          life = till < FAR and till - clock > life and till - clock or life
        end
        pages[place], lives[place] = pack('<I6', clock + life) .. concat(counters, '', 1, member) .. others, life
      end
    end
    if not passes then
      for index = 1, count, 3 do
        place = olds[index]
        pages[place], lives[place] = olds[index + 1], olds[index + 2]
      end
      said, carefully = before, carefully or careful().several(shape, size, isConsume)
      carefully(first)
    end
  end
end
