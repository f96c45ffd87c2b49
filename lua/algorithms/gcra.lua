-- GCRA: the backlog is kept, which is what is ahead of the theoretical arrival time.

if uses['gcra'] then
  isBucket['gcra'], bytes['gcra'] = true, 19

  laws['gcra'] = function(state, at, now, policy, cost, verb)
    return bucketLaw(state, at, now, policy, cost, verb, false, false)
  end
end
