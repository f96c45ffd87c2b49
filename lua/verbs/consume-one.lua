-- consume of one charge.

if verb == 'consume' and size == 1 then
  local policy = shape[1]
  act = function(position)
    local place = placeOf(position + 1)
    local page, remaining, reset, delay = passed(policy, pages[place] or '')
    if page then
      pages[place], lives[place] = page, reset
      report(0, delay, remaining, reset)
    else
      report(careful().tell(place, policy, policy.cost, 'consume'))
    end
  end
end
