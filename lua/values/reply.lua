local reply = { clock }

-- What is said of charge number `place` of all.
local function report(place, wait, remaining, reset, delay)
  local at = 4 * place - 3
  if wait + remaining + reset >= 4503599627370496 then
    wait = wait < 4503599627370496 and wait or string.format('%.0f', wait)
    remaining, reset = string.format('%.0f', remaining), string.format('%.0f', reset)
  end
  reply[at + 1], reply[at + 2], reply[at + 3], reply[at + 4] = wait, remaining, reset, delay
end
