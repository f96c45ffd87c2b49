-- charge, refund, block, unblock and reset of any number of charges.

if verb == 'charge' or verb == 'refund' or verb == 'block' or verb == 'unblock' or verb == 'reset' then
  act = function(position)
    for index = 1, size do
      local policy = shape[index]
      position = policy.isJoined and position or position + 1
      careful().change(placeOf(position), policy, verb)
    end
  end
end
