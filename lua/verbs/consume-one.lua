-- consume of one charge.

if verb == 'consume' and size == 1 then
  local policy = shape[1]
  local law, form, alone, field, bytes = policy.law, '<I6I4B' .. policy.kind.form, policy.bytes and 11 + policy.bytes, policy.field, policy.bytes
  local cost, isUsual = policy.cost, policy.bytes and policy.cost > 0 and policy.cost <= policy.capacity
  act = function(position)
    local place = placeOf(position + 1)
    local page = pages[place] or ''
    local isAlone, _, foundField, length, at, a, b, c = page == ''
    if #page == alone then
      _, foundField, length, at, a, b, c = unpack(form, page)
      isAlone = foundField == field and length == bytes
    end
    if isAlone and isUsual and (not at or at <= clock) then
      local wait, delay, remaining, reset, isNew, newAt, newA, newB, newC =
        law(at, clock, a, b, c, policy, cost, 'consume')
      if wait == 0 and reset > 0 then
        local till = clock + reset
        if till < FAR then
          pages[place], lives[place] = pack(form, till, field, bytes, newAt, newA, newB, newC), reset
          return report(0, delay, remaining, reset)
        end
      end
    end
    report(careful().tell(place, policy, cost, 'consume'))
  end
end
