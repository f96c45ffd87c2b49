local reply, replied = { clock }, 1

local function report(status, remaining, wait, reset, delay)
  local most = 4503599627370496
  reply[replied + 1] = status
  reply[replied + 2] = remaining < most and remaining or string.format('%.0f', remaining)
  reply[replied + 3] = wait < most and wait or string.format('%.0f', wait)
  reply[replied + 4] = reset < most and reset or string.format('%.0f', reset)
  reply[replied + 5] = delay
  replied = replied + 5
end
