-- consume of several charges, all or none, and peek.

if (verb == 'consume' and size > 1) or verb == 'peek' then
  local isConsume = verb == 'consume'
  -- Whether each may simply pass.
  local isUsual, members = isConsume, 0
  for index = size, 1, -1 do
    local policy = shape[index]
    members = members + 1
    isUsual = isUsual and policy.bytes and policy.cost > 0 and policy.cost <= policy.capacity and members <= 16
    for later = index + 1, isUsual and index + members - 1 or 0 do
      isUsual = isUsual and shape[later].field ~= policy.field
    end
    if isUsual then
      policy.isLast, policy.form = members == 1, '<I4BI6' .. policy.kind.form
    end
    members = policy.isJoined and members or 0
  end

  -- What each page was: its place, itself, how long it was kept; the new counters of one.
  local olds, counters = {}, {}
  local carefully

  act = function(position)
    local before, first, passes, count = said, position, isUsual, 0
    local place, page, from, at, life, member, positions, others, othersTill
    for index = 1, passes and size or 0 do
      local policy = shape[index]
      if not policy.isJoined then
        position = position + 1
        place = placeOf(position)
        page, from, at, life, member = pages[place] or '', index, 1, 0, 0
        positions, others, othersTill = nil, '', 0
        if place < position then
          for other = 1, count, 3 do
            passes = passes and olds[other] ~= place
          end
        end
      end
      local field, bytes, form = policy.field, policy.bytes, policy.form
      local foundField, length, time, a, b, c, _ = nil, bytes
      if page ~= '' then
        -- Mostly a page has what this shape of operation has put there, in its order.
        if not positions and #page >= at + 10 + bytes then
          foundField, length, _, time, a, b, c = unpack(form, page, at)
          at = at + 11 + bytes
        end
        if foundField ~= field or (policy.isLast and at <= #page) then
          if not positions then
            positions, others, othersTill = careful().layout(page, shape, from)
          end
          if positions[field] and positions[field] + 10 + bytes <= #page then
            _, length, _, time, a, b, c = unpack(form, page, positions[field])
          else
            length, time, a = positions[field] and -1 or bytes, nil, nil
          end
        end
      end
      if not passes or length ~= bytes or (time and time > clock) then
        passes = false
        break
      end
      local wait, delay, remaining, reset
      wait, delay, remaining, reset, _, time, a, b, c =
        policy.law(time, clock, a, b, c, policy, policy.cost, 'consume')
      if wait > 0 or reset == 0 or clock + reset >= FAR then
        passes = false
        break
      end
      if delay == 0 and remaining + reset < BIG then
        reply[said + 1], reply[said + 2] = remaining, reset
        said = said + 2
      else
        report(0, delay, remaining, reset)
      end
      life, member = reset > life and reset or life, member + 1
      counters[member] = pack(form, field, bytes, clock + reset, time, a, b, c)
      if policy.isLast then
        if index < size then
          olds[count + 1], olds[count + 2], olds[count + 3] = place, pages[place], lives[place]
          count = count + 3
        end
        pages[place] = member == 1 and others == '' and counters[1] or concat(counters, '', 1, member) .. others
        lives[place] = othersTill - clock > life and othersTill - clock or life
      end
    end
    if not passes then
      for index = 1, count, 3 do
        place = olds[index]
        pages[place], lives[place] = olds[index + 1], olds[index + 2]
      end
      said, carefully = before, carefully or careful().several(shape, isConsume)
      carefully(first)
    end
  end
end
