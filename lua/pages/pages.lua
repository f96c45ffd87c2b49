-- By the place of their key: how long those are kept that are written at the end; false where one was
-- only looked at. A key that comes again has the place where it came first.
local lives, places = {}, {}

local function placeOf(position)
  local key = keys[position]
  local place = places[key]
  if not place then
    place, places[key] = position, position
  end
  return place
end
