local reply, said = { clock }, 1

-- What is said of the next charge.
local function report(wait, delay, remaining, reset)
  if wait + remaining + reset >= BIG then
    wait = wait < BIG and wait or string.format('%.0f', wait)
    remaining, reset = string.format('%.0f', remaining), string.format('%.0f', reset)
  end
  if wait == 0 and delay == 0 then
    reply[said + 1], reply[said + 2] = remaining, reset
    said = said + 2
  else
    reply[said + 1], reply[said + 2], reply[said + 3] = -1, wait, delay
    reply[said + 4], reply[said + 5] = remaining, reset
    said = said + 5
  end
end
