-- Takes permits of quotas for requests, all of a request's pots or none, and takes back what requests did not use.
-- KEYS: the pots of the call, under one hash tag.
-- ARGV: owner, number of the call, milliseconds that a statement of permits in flight holds; per pot: requests a minute, tokens a
--   minute and requests in flight that are allowed (0 for no limit), permits that the owner has in flight; count of corrections,
--   then for each: number of the pot from 1, second of the permit, tokens that were not used (below zero for more than were taken);
--   count of requests, then for each: tokens at worst, how many pots it needs, their numbers.
-- Returns: STALE alone, or OK, nowMs, the second that permits count in; then 4 per request: code, number of the pot that has no room,
--   milliseconds until it may have, the limit of it; then 4 per pot: requests and tokens of the last minute, milliseconds
--   until none of them counts, permits in flight.
local OK, REQUESTS, TOKENS, PARALLEL, TOO_LARGE, STALE = 0, 1, 2, 3, 4, 20
-- Seconds that count: a minute, the part of a second that a slice hides, and one for the way to the provider.
local SPAN = 62
-- How long permits in flight are waited for.
local PARALLEL_WAIT_MS = 1000
local KEPT_SECONDS = 120

local owner, op, holdMs = ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local own = 'o:' .. owner
local a = 4

local function parsePair(text)
  local first, second = string.match(text or '0,0', '^(%-?%d+),(%-?%d+)$')
  return tonumber(first), tonumber(second)
end

local function parseOwn(text)
  local count, untilMs, last = string.match(text, '^(%d+),(%d+),(%d+)$')
  return tonumber(count), tonumber(untilMs), tonumber(last)
end

local function removeAll(key, fields)
  for i = 1, #fields, 100 do redis.call('HDEL', key, unpack(fields, i, math.min(i + 99, #fields))) end
end

-- All fields of a pot: the seconds in their order, those that it has no more, and the owners whose statement is over.
local function readWhole(pot)
  local fields, seconds, over = redis.call('HGETALL', pot.key), {}, {}
  local flying = 0
  for i = 1, #fields, 2 do
    local name = fields[i]
    local second = tonumber(name)
    if second and second < pot.first then over[#over + 1] = name
    elseif second then seconds[#seconds + 1] = second
    elseif string.sub(name, 1, 2) == 'o:' and name ~= own then
      local count, untilMs = parseOwn(fields[i + 1])
      if untilMs <= nowMs then over[#over + 1] = name else flying = flying + count end
    end
  end
  removeAll(pot.key, over)
  table.sort(seconds)
  pot.others, pot.seconds = flying, seconds
  return seconds
end

-- Takes seconds that do not count any more out of the sums.
local function forgetOld(pot)
  local first = nowSec - SPAN + 1
  if pot.first >= first then return end
  local from = pot.first
  pot.first = first
  if first - from > 2 * SPAN then
    pot.requests, pot.tokens = 0, 0
    for _, second in ipairs(readWhole(pot)) do
      local requests, tokens = parsePair(redis.call('HGET', pot.key, second))
      pot.requests, pot.tokens = pot.requests + requests, pot.tokens + tokens
    end
    return
  end
  local names = {}
  for second = from, first - 1 do names[#names + 1] = format('%d', second) end
  local gone = {}
  for i, text in ipairs(redis.call('HMGET', pot.key, unpack(names))) do
    if text then
      local requests, tokens = parsePair(text)
      pot.requests, pot.tokens = pot.requests - requests, pot.tokens - tokens
      gone[#gone + 1] = names[i]
    end
  end
  removeAll(pot.key, gone)
end

-- `first`: the oldest second that is in the sums; `others`: permits in flight of other owners; `mine`: those of this one.
local function readPot(i)
  local stored = redis.call('HMGET', KEYS[i], 'first', 'r', 't', 'p', own, 'last')
  local pot = {
    key = KEYS[i], requests = tonumber(stored[2] or 0), tokens = tonumber(stored[3] or 0),
    requestsMax = tonumber(ARGV[a]), tokensMax = tonumber(ARGV[a + 1]), parallelMax = tonumber(ARGV[a + 2]),
    mine = tonumber(ARGV[a + 3]), slices = {},
  }
  a = a + 4
  pot.last = tonumber(stored[6] or 0)
  pot.first = math.min(tonumber(stored[1] or nowSec), nowSec)
  local before, _, last = 0, 0, -1
  if stored[5] then before, _, last = parseOwn(stored[5]) end
  pot.others, pot.isStale = tonumber(stored[4] or 0) - before, last >= op
  if pot.parallelMax > 0 and not stored[5] then readWhole(pot) end
  return pot
end

local function sliceOf(pot, second)
  local slice = pot.slices[second]
  if slice then return slice end
  local requests, tokens = parsePair(redis.call('HGET', pot.key, format('%d', second)) or nil)
  slice = { requests, tokens }
  pot.slices[second] = slice
  return slice
end

local function add(pot, second, requests, tokens)
  local slice = sliceOf(pot, second)
  local taken = math.max(tokens, -slice[2])
  slice[1], slice[2] = slice[1] + requests, slice[2] + taken
  pot.requests, pot.tokens = pot.requests + requests, pot.tokens + taken
end

-- Milliseconds until so many requests or tokens (`at` 1 or 2) of the pot do not count any more.
local function waitFor(pot, at, excess)
  for _, second in ipairs(pot.seconds or readWhole(pot)) do
    excess = excess - sliceOf(pot, second)[at]
    if excess <= 0 then return (second + SPAN) * 1000 - nowMs end
  end
  return SPAN * 1000
end

-- Why a pot has no room for a request; nil where it has.
local function lackOf(pot, tokens)
  if pot.tokensMax > 0 and tokens > pot.tokensMax then return TOO_LARGE, 0, pot.tokensMax end
  local excess = pot.requests + 1 - pot.requestsMax
  if pot.requestsMax > 0 and excess > 0 then return REQUESTS, waitFor(pot, 1, excess), pot.requestsMax end
  excess = pot.tokens + tokens - pot.tokensMax
  if pot.tokensMax > 0 and excess > 0 then return TOKENS, waitFor(pot, 2, excess), pot.tokensMax end
  if pot.parallelMax == 0 or pot.others + pot.mine < pot.parallelMax then return nil end
  if not pot.seconds then readWhole(pot) end
  if pot.others + pot.mine < pot.parallelMax then return nil end
  return PARALLEL, PARALLEL_WAIT_MS, pot.parallelMax
end

local function writePot(pot)
  local values = { 'first', format('%d', pot.first), 'r', format('%d', pot.requests), 't', format('%d', pot.tokens),
    'last', format('%d', pot.last) }
  for second, slice in pairs(pot.slices) do
    values[#values + 1] = format('%d', second)
    values[#values + 1] = format('%d,%d', slice[1], slice[2])
  end
  if pot.parallelMax > 0 or pot.mine > 0 then
    values[#values + 1] = 'p'
    values[#values + 1] = format('%d', pot.others + pot.mine)
    values[#values + 1] = own
    values[#values + 1] = format('%d,%d,%d', pot.mine, nowMs + holdMs, op)
  end
  redis.call('HSET', pot.key, unpack(values))
  redis.call('EXPIRE', pot.key, KEPT_SECONDS)
end

local pots = {}
for i = 1, #KEYS do
  pots[i] = readPot(i)
  if pots[i].isStale then return { STALE } end
end
for _, pot in ipairs(pots) do forgetOld(pot) end

local corrections = tonumber(ARGV[a])
a = a + 1
for _ = 1, corrections do
  local pot, second = pots[tonumber(ARGV[a])], tonumber(ARGV[a + 1])
  if second >= pot.first then add(pot, second, 0, -tonumber(ARGV[a + 2])) end
  a = a + 3
end

local reply = { OK, nowMs, nowSec }
local count = tonumber(ARGV[a])
a = a + 1
for _ = 1, count do
  local tokens, needed = tonumber(ARGV[a]), tonumber(ARGV[a + 1])
  local code, place, waitMs, limit = OK, 0, 0, 0
  for i = 1, needed do
    local number = tonumber(ARGV[a + 1 + i])
    local lack, lackMs, most = lackOf(pots[number], tokens)
    -- The longest wait counts, and nothing outwaits a request that is too large.
    if lack and code ~= TOO_LARGE and (lack == TOO_LARGE or lackMs > waitMs) then
      code, place, waitMs, limit = lack, number, lackMs, most
    end
  end
  if code == OK then
    for i = 1, needed do
      local pot = pots[tonumber(ARGV[a + 1 + i])]
      add(pot, nowSec, 1, tokens)
      pot.last = nowSec
      if pot.parallelMax > 0 then pot.mine = pot.mine + 1 end
    end
  end
  a = a + 2 + needed
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3], reply[#reply + 4] = code, place, waitMs, limit
end

for _, pot in ipairs(pots) do
  writePot(pot)
  local resetMs = math.max(0, (pot.last + SPAN) * 1000 - nowMs)
  reply[#reply + 1], reply[#reply + 2], reply[#reply + 3] = pot.requests, pot.tokens, resetMs
  reply[#reply + 1] = pot.others + pot.mine
end
return reply
