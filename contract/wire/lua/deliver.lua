-- Takes the endings of an owner's requests, each once and in order, and the parts that its leases give back.
-- KEYS: epoch, leases of the owner, ledger stream; then 2 per lease: account, key counters; then the key counters of each rate.
-- ARGV: epoch, number of the call, number of the first and of the last ending (0, 0 for none), the EndingBatch, lease count,
--   count of rates; then 8 per lease: its field, accountId, keys, charged coin, charged grants, returned coin, returned grants (coin as in
--   shared/coin.lua), permits returned as "count,interval" ('' for none; "-count,interval,burst": used and not taken);
--   then for each rate whose lease is not settled now its permits;
--   then for each lease that is charged and not settled now its field of charges (see shared/lease.lua) and the text of all of
--   them; then the minutes that first results are remembered. The lease of a request with a single hold represents that hold
--   and gives back everything that is not charged.
-- Returns: code of the call (0 or one of shared/lease.lua), nowMs, number of the last ending that was delivered, the epoch,
--   the permits that are left after each text with a burst, in their order, as `permits;...` ('' for a rate that is gone).
local OK, ITEM_KEYS, ITEM_ARGS = 0, 2, 8

-- Makes a hold a part of the lease of its request. Returns whether there was one.
local function takeHold(k, lease, requestId)
  local holdsKey = holdsKeyOf(KEYS[2])
  local hold = redis.call('HGET', holdsKey, requestId)
  if not hold then return false end
  local coin, parts = string.match(inCurrentForm(hold), '^%d+|%d+|[^|]*|[^|]*|v2:%d+|([%d@]+)|([^|]*)|')
  redis.call('HDEL', holdsKey, requestId)
  local units, price = parseHeldCoin(coin)
  local out = coinFor(units, price)
  lease.coinUnits, lease.nanos = lease.coinUnits + units, lease.nanos + out
  for id, part in pairs(parseParts(parts)) do
    lease.parts[id] = (lease.parts[id] or 0) + part
    out = out + part
  end
  changeAccount(KEYS[k], 1, 0, {}, out)
  return true
end

-- A hold that is neither held nor reported was lost with Redis, and is charged to the free balance; or another process has
-- ended it, and the book takes the ending that arrived first.
local function endSingle(k, a, requestId)
  local isKnown = leases[ARGV[a]]
  local lease = leaseAt(ARGV[a], ARGV[a + 1], ARGV[a + 2])
  local minutes, donePrefix = tonumber(ARGV[#ARGV]), 'done:' .. string.match(KEYS[2], '{.-}')
  if not takeHold(k, lease, requestId) and not isKnown and firstResult(donePrefix, requestId, minutes) then return end
  settleLease(lease, KEYS[k], KEYS[k + 1], parsePots(ARGV[a + 3], ARGV[a + 4]))
  local charged = parseCoin(ARGV[a + 3]) + sumOf(parseParts(ARGV[a + 4]))
  remember(donePrefix, requestId, charged > 0 and charged or -1, minutes)
end

local function settleKey(k, a)
  local charged, lease = parsePots(ARGV[a + 3], ARGV[a + 4]), leaseAt(ARGV[a], ARGV[a + 1], ARGV[a + 2])
  if charges[ARGV[a]] then addCharges(charged, charges[ARGV[a]]) end
  settleLease(lease, KEYS[k], KEYS[k + 1], charged, parsePots(ARGV[a + 5], ARGV[a + 6]))
end

local permitsLeft = {}
local function changePermits(countersKey, text)
  local count, interval, burst = string.match(text, '^(%-?%d+),(%d+),?(%d*)$')
  local tat, place = count and redis.call('HGET', countersKey, 'tat'), #permitsLeft + 1
  if burst ~= '' then permitsLeft[place] = '' end
  if not tat then return end
  if burst ~= '' then tat = math.max(tonumber(tat), nowMicros) end
  tat = math.max(tat - count * interval, 0)
  redis.call('HSET', countersKey, 'tat', format('%d', tat))
  if burst == '' then return end
  permitsLeft[place] = format('%d', math.max(math.floor((nowMicros + interval * (burst - 1) - tat) / interval) + 1, 0))
end

local from, to, count, rates, fields = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6]), tonumber(ARGV[7]), {}
for i = 0, count - 1 do fields[i + 1] = ARGV[8 + i * ITEM_ARGS] end
local refused, delivered = refusalOf(KEYS[1], KEYS[2], ARGV[1], ARGV[2], fields, true)
if refused then return { refused, nowMs, delivered, redis.call('GET', KEYS[1]) or '' } end
if to > 0 and from ~= delivered + 1 then return { STALE, nowMs, delivered, ARGV[1] } end
for i = 0, count - 1 do
  local k, a = 4 + i * ITEM_KEYS, 8 + i * ITEM_ARGS
  local requestId = requestOf(ARGV[a])
  if requestId then
    endSingle(k, a, requestId)
  else
    settleKey(k, a)
  end
  if ARGV[a + 7] ~= '' then changePermits(KEYS[k + 1], ARGV[a + 7]) end
end
local k, a = 4 + count * ITEM_KEYS, 8 + count * ITEM_ARGS
for i = 0, rates - 1 do changePermits(KEYS[k + i], ARGV[a + i]) end
if to > 0 then
  redis.call('XADD', KEYS[3], '*', 'b', ARGV[5])
  delivered = to
end
local writes = { 'op', ARGV[2], 'seq', format('%d', delivered) }
for i = a + rates, #ARGV - 1 do writes[#writes + 1] = ARGV[i] end
writeOwner(KEYS[2], writes)
return { OK, nowMs, delivered, ARGV[1], table.concat(permitsLeft, ';') }
