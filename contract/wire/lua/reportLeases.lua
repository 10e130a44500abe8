-- Records the part of its leases that an owner has in open holds and in endings that are not booked, when Redis may have
-- lost it. While admission is closed for a loading, the loading takes it into account; once admission is open, it is taken
-- from the free balance.
-- KEYS: epoch, leases of the owner, load guard; then 2 per lease: account, key counters.
-- ARGV: load number that asks for it ('' when admission is open), number of the call, number of the last booked ending; then
--   4 per lease: its field, accountId, keys, the amount out as `coin|grantId=units,...` (coin as in shared/coin.lua).
-- Returns: 0 written, 9 admission is closed and no loading asks, 20 another loading asks or a later call of the owner was
--   seen; nowMs, the epoch.
local OK, ITEM_KEYS, ITEM_ARGS = 0, 2, 4
local epoch = redis.call('GET', KEYS[1])
if ARGV[1] == '' and not epoch then return { CLOSED, nowMs, '' } end
if ARGV[1] ~= '' and (epoch or redis.call('GET', KEYS[3]) ~= ARGV[1]) then return { STALE, nowMs, epoch or '' } end
if tonumber(ARGV[2]) <= tonumber(redis.call('HGET', KEYS[2], 'op') or 0) then return { STALE, nowMs, epoch or '' } end

-- Everything that Redis has out for this owner is freed first, so that the reported amounts are taken once.
if epoch then giveBackLeases(KEYS[2]) end
redis.call('DEL', KEYS[2])

local function report(k, a)
  -- A hold that Redis still has is in no lease.
  local requestId = requestOf(ARGV[a])
  if requestId and redis.call('HEXISTS', holdsKeyOf(KEYS[2]), requestId) == 1 then return end
  local coin, parts = string.match(ARGV[a + 3], '^([%d:]+)|(.*)$')
  local lease = newLease(ARGV[a], ARGV[a + 1], ARGV[a + 2])
  lease.coinUnits, lease.nanos = parseCoin(coin)
  lease.parts = parseParts(parts)
  local units = lease.coinUnits + sumOf(lease.parts)
  leases[ARGV[a]] = lease
  if epoch then
    changeAccount(KEYS[k], -1, lease.nanos, lease.parts, outOf(lease))
    uncount(KEYS[k + 1], lease, -units)
    if platformOf(lease.keys) then uncount(siblingKey(KEYS[k + 1], platformOf(lease.keys)), lease, -units) end
  end
end

for i = 0, math.floor((#ARGV - 3) / ITEM_ARGS) - 1 do report(4 + i * ITEM_KEYS, 4 + i * ITEM_ARGS) end
writeOwner(KEYS[2], { 'op', ARGV[2], 'seq', ARGV[3], 'load', ARGV[1] })
return { OK, nowMs, epoch or '' }
