--[[
  Decides a list of operations over keys, each all or none, in one atomic step: reads first, writes
  last, one write a key that sets the value and its time to live together.

  KEYS     the key of each charge of each operation, in their order; the same key may come again
  ARGV     <Redis time (ms) after which nothing is to be decided any more, or an empty string>
           then shapes, which operations have in common, and runs of operations of one shape:
             <number of shapes>
             per shape: <verb> <number of charges>
               per charge: <algorithm> <limit> <window ms> <burst> <max delay ms> <rate> <unit>
                           <cost> <1 enforced | 0 shadow>
             <number of runs>
             per run: <index of shape> <number of operations>
           verbs: consume peek charge refund reset unblock, and block, whose cost is milliseconds
  Returns  the time of the decision (ms); then nothing if it is too late, else per charge, flat:
             <ms until it passes: 0 passes, -1 never will, -2 not a charge> <remaining>
             <reset after ms> <delay ms>
           Integers; strings from 2^52 on, because some clients lose the last bit of those.

  A value is: one byte, 1 if a block stands in front and else 0; the end of the block (6 bytes, ms);
  then, if there is a state, its time (6 bytes, ms) and what its algorithm packs. Little-endian.

  An algorithm is a table: `law`; `form` and `bytes`, how a value without a block is packed and its
  length, the latter only if it is fixed; `isBucket`, if the capacity is the burst; `isAligned`, if
  the time of a state is the start of a window. Its law is a function of
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
-- A key outlives its state by this much, so that a clock a little ahead does not forget it early.
local SKEW_MS = 1000

local keys, args = KEYS, ARGV
local call, pack, spread, unpack = redis.call, struct.pack, unpack, struct.unpack
local floor, ceil = math.floor, math.ceil

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

local function algorithm(name)
  -- @include shared

  -- @include algorithms
end

-- @include values

-- What one operation does, whose charges come after the `first` so many; nil if there is no such verb.
local function actOf(verb, size)
  -- @include verbs
end

local shapes, algorithms = {}, {}
local position = 2
-- Every loop ends where what was sent ends, so that no count keeps Redis busy.
for index = 1, tonumber(args[2]) or 0 do
  local verb, size = args[position + 1], whole(args[position + 2])
  if not size then
    break
  end
  local shape, isValid = { size = size }, true
  position = position + 2
  for place = 1, size do
    local name = args[position + 1]
    if not name then
      isValid = false
      break
    end
    local limit, window, cost = whole(args[position + 2]), whole(args[position + 3]), whole(args[position + 8])
    local known = algorithms[name]
    if known == nil then
      known = algorithm(name) or false
      algorithms[name] = known
    end
    local isBucket = known and known.isBucket
    -- What a window has no use for is not read, because reading a number is dear.
    local burst, maxDelay, rate, unit = limit, 0, 0, 1
    if isBucket then
      burst, maxDelay = whole(args[position + 4]), whole(args[position + 5])
      rate, unit = whole(args[position + 6]), whole(args[position + 7])
    end
    if known and limit and window and window > 0 and burst and maxDelay and rate and unit and unit > 0 and cost then
      shape[place] = {
        law = known.law, form = known.form, bytes = known.bytes, isAligned = known.isAligned,
        isLevel = known.isLevel, isQueue = known.isQueue, capacity = burst,
        limit = limit, window = window, burst = burst, maxDelay = maxDelay, rate = rate, unit = unit,
        cost = cost, isEnforced = args[position + 9] == '1',
      }
    else
      isValid = false
    end
    position = position + 9
  end
  shape.act = isValid and actOf(verb, size)
  shapes[index] = shape
end

if #keys > 0 then
  -- A foreign type reads as absent.
  stored = call('MGET', spread(keys))
end

local first = 0
for index = 1, tonumber(args[position + 1]) or 0 do
  local shape = shapes[tonumber(args[position + 2 * index])]
  if not shape then
    break
  end
  local size, act = shape.size, shape.act
  for _ = 1, size > 0 and tonumber(args[position + 2 * index + 1]) or 0 do
    if first + size > #keys then
      break
    end
    if act then
      act(shape, first)
    else
      for place = first + 1, first + size do
        report(place, -2, 0, 0, 0)
      end
    end
    first = first + size
  end
end

-- A key without a time to live would stay for ever; whoever touches it gives it one.
for key, policy in pairs(touched) do
  if not lives[key] and call('PTTL', key) == -1 then
    keep(key, policy, parts(values[key], policy))
  end
end

for key, life in pairs(lives) do
  if life > 0 then
    call('SET', key, values[key], 'PX', life + SKEW_MS)
  else
    call('DEL', key)
  end
end

return reply
