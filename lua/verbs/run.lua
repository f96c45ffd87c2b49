local function isVerb(verb)
  return verb == 'consume' or verb == 'peek' or verb == 'charge' or verb == 'refund'
    or verb == 'block' or verb == 'unblock' or verb == 'reset'
end

-- One operation of a shape, whose charges come after the first so many.

local function run(shape, first)
  local verb, size = shape.verb, shape.size
  if not shape.isValid then
    for index = 1, size do
      report(first + index, -2, 0, 0, 0)
    end
  elseif verb == 'consume' and size == 1 then
    decideOne(shape[1], first + 1)
  elseif verb == 'consume' or verb == 'peek' then
    decideAll(shape, first)
  else
    for index = 1, size do
      change(verb, shape[index], first + index)
    end
  end
end
