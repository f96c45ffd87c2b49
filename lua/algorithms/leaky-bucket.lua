-- Leaky bucket: GCRA whose callers are held until what was ahead of them has drained.

if uses['leaky-bucket'] then
  local function law(state, at, now, policy, cost, verb)
    return bucketLaw(state, at, now, policy, cost, verb, false, true)
  end

  algorithms['leaky-bucket'] = { law = law, isBucket = true, bytes = 19 }
end
