-- What the window algorithms share.

local function windowStart(policy, now)
  return now - now % policy.window
end

local function noDelay()
  return 0
end
