-- Token bucket: the level is kept, so a higher burst gives nothing at once.

if uses['token-bucket'] then
  isBucket['token-bucket'], bytes['token-bucket'] = true, 19

  laws['token-bucket'] = function(state, at, now, policy, cost, verb)
    return bucketLaw(state, at, now, policy, cost, verb, true, false)
  end
end
