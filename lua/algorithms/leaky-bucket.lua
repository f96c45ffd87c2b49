-- Leaky bucket: GCRA whose callers are held until what was ahead of them has drained.

if uses['leaky-bucket'] then
  isBucket['leaky-bucket'], bytes['leaky-bucket'] = true, 19

  laws['leaky-bucket'] = function(state, at, now, policy, cost, verb)
    return bucketLaw(state, at, now, policy, cost, verb, false, true)
  end
end
