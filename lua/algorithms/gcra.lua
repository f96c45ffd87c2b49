-- GCRA: the backlog is kept, which is what is ahead of the theoretical arrival time.

if uses['gcra'] then
  local function law(state, at, now, policy, cost, verb)
    return bucketLaw(state, at, now, policy, cost, verb, false, false)
  end

  algorithms['gcra'] = { law = law, isBucket = true, bytes = 19 }
end
