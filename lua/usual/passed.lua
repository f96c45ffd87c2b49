-- A page after one charge has been added to it, what remains, the ms to a full quota and the delay; nil
-- where it does not pass, or anything is out of the ordinary.
local function passed(policy, page)
  local bytes, cost = policy.bytes, policy.cost
  if not bytes or cost == 0 or cost > policy.capacity then
    return nil
  end
  local form, field = '<I4BI6' .. policy.kind.form, policy.field
  local _, foundField, length, time, a, b, c
  if page ~= '' then
    if #page ~= 11 + bytes then
      return nil
    end
    foundField, length, _, time, a, b, c = unpack(form, page)
    if foundField ~= field or length ~= bytes or time > clock then
      return nil
    end
  end
  local wait, delay, remaining, reset
  wait, delay, remaining, reset, _, time, a, b, c = policy.law(time, clock, a, b, c, policy, cost, 'consume')
  if wait > 0 or reset == 0 or clock + reset >= FAR or remaining >= BIG then
    return nil
  end
  return pack(form, field, bytes, clock + reset, time, a, b, c), remaining, reset, delay
end
