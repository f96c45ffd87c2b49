--[[
  Decides a list of operations over counters, each all or none, in one atomic step: reads first,
  writes last, one write a key that sets the value and its time to live together.

  KEYS     the key of each charge of each operation, in their order, said once for charges in a row
           that share it; the same key may come again
  ARGV     <Redis time (ms) after which nothing is to be decided any more, or an empty string>
           then shapes, which operations have in common, and runs of operations of one shape:
             <number of shapes>
             per shape: <verb> <number of charges>
               per charge: <algorithm> <limit> <window ms> <burst> <max delay ms> <rate> <unit>
                           <cost> <1 enforced | 0 shadow, 2 more if its key is that of the one before>
                           <field>
             <number of runs>
             per run: <index of shape> <number of operations>
           verbs: consume peek charge refund reset unblock, and block, whose cost is milliseconds
  Returns  the time of the decision (ms); then nothing if it is too late, else per charge, flat:
             <remaining> <reset after ms>, if it passes at once
             -1 <ms until it passes, -1 never> <delay ms> <remaining> <reset after ms>, if not
             -2, if it is no charge
           Integers; strings from 2^52 on, because some clients lose the last bit of those.

  A value is a page of counters. Of each: its field (4 bytes), the bytes of its state (1 byte, 127 for
  all that follows; 128 more if a block stands in front), when it says nothing any more (6 bytes, ms),
  the end of the block (6 bytes, ms) and the state: its time (6 bytes, ms) and what its algorithm packs.
  Little-endian.

  An algorithm is a table: `law`; `form` and `bytes`, how a state is packed and its length, the latter
  only if it is fixed; `isBucket`, if the capacity is the burst; `isAligned`, if the time of a state is
  the start of a window. Its law is a function of
    (at, now, a, b, c, policy, cost, verb)
  where `at` is nil for a full quota and otherwise the time of the state, a, b and c are what was
  packed after it, and `now` is never before `at`. It does what the verb says (consume, if it passes;
  charge; refund; look, nothing) and returns
    <ms until cost passes, 0 now> <delay ms>, both before it
    <remaining> <ms to a full quota>, both after it
    <true if there is something to write> <time> <a> <b> <c>
  For the verb `life` it returns only the ms from `now` until a state is full by the numbers it was
  written with.

  Functions and tables are made only where a call needs them: making one costs as much as using it.
]]

local MAX = 9007199254740991
-- From here on some clients lose the last bit of a number.
local BIG = 4503599627370496
-- The year 3084: a time after it ends in a printable character, so it is text and no time.
local FAR = 35184372088832
-- The length of a state that goes to the end of its page.
local REST = 127
-- A key outlives its state by this much, so that a clock a little ahead does not forget it early.
local SKEW_MS = 1000

local keys, args = KEYS, ARGV
local call, pack, spread, unpack = redis.call, struct.pack, unpack, struct.unpack
local floor, ceil, concat = math.floor, math.ceil, table.concat

-- Read once: before Redis 7.2 a script's clock goes on while it runs.
local time = redis.call('TIME')
local clock = time[1] * 1000 + floor(time[2] / 1000)
local deadline = tonumber(args[1])
if deadline and clock > deadline then
  return { clock }
end

-- A whole number from 0 to MAX, or nil: tonumber alone takes nan, inf and 1.5.
local function whole(text)
  local number = tonumber(text)
  return number and number >= 0 and number <= MAX and number % 1 == 0 and number or nil
end

local shapes, algorithms = {}, {}
local at = 2
-- Every loop ends where what was sent ends, so that no count keeps Redis busy.
for index = 1, tonumber(args[2]) or 0 do
  local verb, size = args[at + 1], whole(args[at + 2])
  if not size then
    break
  end
  local shape, isValid = { size = size, keys = 0, verb = verb, isValid = false, act = false }, true
  at = at + 2
  for charge = 1, size do
    local name = args[at + 1]
    if not name then
      shape.size, isValid = charge - 1, false
      break
    end
    local limit, window, cost = whole(args[at + 2]), whole(args[at + 3]), whole(args[at + 8])
    local marks, field = args[at + 9], whole(args[at + 10])
    local known = algorithms[name]
    if known == nil then
      -- @include shared

      -- @include algorithms
      algorithms[name] = known or false
    end
    -- What a window has no use for is not read, because reading a number is dear.
    local capacity, maxDelay, rate, unit = limit, 0, 0, 1
    if known and known.isBucket then
      capacity, maxDelay = whole(args[at + 4]), whole(args[at + 5])
      rate, unit = whole(args[at + 6]), whole(args[at + 7])
    end
    local isJoined = charge > 1 and (marks == '3' or marks == '2')
    shape.keys = isJoined and shape.keys or shape.keys + 1
    if known and limit and window and window > 0 and capacity and maxDelay and rate and unit and unit > 0
      and cost and field then
      shape[charge] = {
        kind = known, law = known.law, bytes = known.bytes, form = false, limit = limit,
        window = window, capacity = capacity, maxDelay = maxDelay, rate = rate, unit = unit, cost = cost,
        field = field, isJoined = isJoined, isLast = true, isEnforced = marks == '1' or marks == '3',
      }
    else
      isValid = false
    end
    at = at + 10
  end
  shape.isValid = isValid
  shapes[index] = shape
end

-- @include usual

-- A foreign type reads as absent.
local pages = #keys > 0 and call('MGET', spread(keys)) or keys

-- A lone caller sends one operation of one charge, which needs nothing of what follows.
local lone = #keys == 1 and args[at + 1] == '1' and args[at + 3] == '1' and shapes[tonumber(args[at + 2])]
if lone and lone.isValid and lone.size == 1 and lone.verb == 'consume' then
  local page, remaining, reset, delay = passed(lone[1], pages[1] or '')
  if page and delay == 0 then
    call('SET', keys[1], page, 'PX', reset + SKEW_MS)
    return { clock, remaining, reset }
  end
end

-- @include pages

-- What reads, judges and writes a counter wherever it stands and whatever it says. Most calls do
-- without, so it is made when something is out of the ordinary.
local tools
local function careful()
  if not tools then
    -- @include counters

    -- @include careful

    tools = { lifeOf = lifeOf, layout = layout, tell = tell, several = several, change = change }
  end
  return tools
end

local position = 0
for index = 1, tonumber(args[at + 1]) or 0 do
  local shape = shapes[tonumber(args[at + 2 * index])]
  if not shape then
    break
  end
  local act, size, verb = shape.act, shape.size, shape.verb
  if not act and shape.isValid then
    -- @include verbs
    shape.act = act
  end
  for _ = 1, size > 0 and tonumber(args[at + 2 * index + 1]) or 0 do
    if position + shape.keys > #keys then
      break
    end
    if act then
      act(position)
    else
      for _ = 1, size do
        said = said + 1
        reply[said] = -2
      end
    end
    position = position + shape.keys
  end
end

-- A key without a time to live would stay for ever; whoever touches it gives it one, but for a peek.
for place, life in pairs(tools and lives or {}) do
  if not life and call('PTTL', keys[place]) == -1 then
    lives[place] = tools.lifeOf(pages[place] or '')
  end
end

-- Writing a number out is as dear as a law, and many lives of a batch are alike.
local texts = #keys > 1 and {}
for place = 1, #keys do
  local life = lives[place]
  if life and life > 0 then
    local text = texts and texts[life]
    if texts and not text then
      text = string.format('%.0f', life + SKEW_MS)
      texts[life] = text
    end
    call('SET', keys[place], pages[place], 'PX', text or life + SKEW_MS)
  elseif life then
    call('DEL', keys[place])
  end
end

return reply
