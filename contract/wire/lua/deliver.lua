-- Takes the endings of an owner's requests, each once and in order, and the parts that its leases give back.
-- KEYS: epoch, leases of the owner, ledger stream; then 2 per lease: account, key counters.
-- ARGV: epoch, number of the call, number of the first and of the last ending (0, 0 for none), the EndingBatch, lease count;
--   then 8 per lease: its field, accountId, keys, charged coin, charged grants, returned coin, returned grants (coin as in
--   shared/coin.lua), permits returned as "count,interval" ('' for none; "-count,interval,burst": used and not taken);
--   then the minutes that first results are
--   remembered. The lease of a request with a single hold, see shared/lease.lua, represents that hold and gives back
--   everything that is not charged.
-- Returns: code of the call (0 or one of shared/lease.lua), nowMs, number of the last ending that was delivered, the epoch,
--   the permits that are left of those that were taken for leases, as `field=permits;...`.
local OK, ITEM_KEYS, ITEM_ARGS = 0, 2, 8

-- The part of a pot that stays leased out, and the part that the account gets back: negative where a lease was given up
-- before its requests were charged. The free balance may fall below zero then; no request is admitted on it until the book
-- has more.
local function takeOff(out, charged, returned)
  local left = math.max(0, out - charged - returned)
  return left, out - left - charged
end

-- As takeOff, for coin; also the units of it that are no longer counted. When no coin is out, none of its units is counted.
local function takeOffCoin(lease, chargedText, returnedText, isWhole)
  local chargedUnits, chargedNanos = parseCoin(chargedText)
  local returnedUnits, returnedNanos = parseCoin(returnedText)
  local nanos, back = takeOff(lease.nanos, chargedNanos, isWhole and lease.nanos or returnedNanos)
  local units = nanos == 0 and 0 or math.max(0, lease.coinUnits - chargedUnits - returnedUnits)
  local uncounted, gone = lease.coinUnits - units - chargedUnits, lease.nanos - nanos
  lease.coinUnits, lease.nanos = units, nanos
  return back, uncounted, gone
end

local function settleLease(k, a, lease, isWhole)
  local charged, returned, backParts = parseParts(ARGV[a + 4]), parseParts(ARGV[a + 6]), {}
  local back, uncounted, gone = takeOffCoin(lease, ARGV[a + 3], ARGV[a + 5], isWhole)
  for id in pairs(charged) do lease.parts[id] = lease.parts[id] or 0 end
  for id, out in pairs(lease.parts) do
    local left, back = takeOff(out, charged[id] or 0, isWhole and out or returned[id] or 0)
    lease.parts[id], gone = left, gone + out - left
    if back ~= 0 then backParts[id] = back end
  end
  changeAccount(KEYS[k], 1, back, backParts, -gone)
  local platformKeyId = platformOf(lease.keys)
  uncounted = uncounted + sumOf(backParts)
  uncount(KEYS[k + 1], lease, uncounted)
  if platformKeyId then uncount(siblingKey(KEYS[k + 1], platformKeyId), lease, uncounted) end
end

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
  settleLease(k, a, lease, true)
  local charged = parseCoin(ARGV[a + 3]) + sumOf(parseParts(ARGV[a + 4]))
  remember(donePrefix, requestId, charged > 0 and charged or -1, minutes)
end

local permitsLeft = {}
local function changePermits(k, field, text)
  local count, interval, burst = string.match(text, '^(%-?%d+),(%d+),?(%d*)$')
  local tat = count and redis.call('HGET', KEYS[k + 1], 'tat')
  if not tat then return end
  if burst ~= '' then tat = math.max(tonumber(tat), nowMicros) end
  tat = math.max(tat - count * interval, 0)
  redis.call('HSET', KEYS[k + 1], 'tat', format('%d', tat))
  if burst ~= '' then
    local left = math.floor((nowMicros + interval * (burst - 1) - tat) / interval) + 1
    permitsLeft[#permitsLeft + 1] = format('%s=%d', field, math.max(left, 0))
  end
end

local from, to, count, fields = tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[6]), {}
for i = 0, count - 1 do fields[i + 1] = ARGV[7 + i * ITEM_ARGS] end
local refused, delivered = refusalOf(KEYS[1], KEYS[2], ARGV[1], ARGV[2], fields)
if refused then return { refused, nowMs, delivered, redis.call('GET', KEYS[1]) or '' } end
if to > 0 and from ~= delivered + 1 then return { STALE, nowMs, delivered, ARGV[1] } end
for i = 0, count - 1 do
  local k, a = 4 + i * ITEM_KEYS, 7 + i * ITEM_ARGS
  local requestId = requestOf(ARGV[a])
  if requestId then
    endSingle(k, a, requestId)
  else
    settleLease(k, a, leaseAt(ARGV[a], ARGV[a + 1], ARGV[a + 2]), false)
  end
  if ARGV[a + 7] ~= '' then changePermits(k, ARGV[a], ARGV[a + 7]) end
end
if to > 0 then
  redis.call('XADD', KEYS[3], '*', 'b', ARGV[5])
  delivered = to
end
writeOwner(KEYS[2], 'op', ARGV[2], 'seq', format('%d', delivered))
return { OK, nowMs, delivered, ARGV[1], table.concat(permitsLeft, ';') }
