-- Token bucket: the level is kept, so a higher burst gives nothing at once.

if uses['token-bucket'] then
  local function law(state, at, now, policy, cost, verb)
    return bucketLaw(state, at, now, policy, cost, verb, true, false)
  end

  algorithms['token-bucket'] = { law = law, isBucket = true, bytes = 19 }
end
