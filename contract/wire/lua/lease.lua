-- Leases units of accounts to an owner. For each item: all checks, then all writes (a refusal writes the rate alone).
-- KEYS: epoch, leases of the owner, ledger stream; then 2 per item: account, key counters; then the counters of the platform
--   keys of those items that have one, in their order.
-- ARGV: epoch, number of the call, most entries of the ledger stream, into how many parts the free balance and the rest of
--   each cap are divided, of which a lease that rests is one at most, item count; then per item: accountId, keyId,
--   requests that wait, leastUnits of the first of them, wantUnits of all, extraUnits, extraPermits, a cap for each span (''
--   for none), "interval,burst" ('' for no rate) in microseconds, units in one coin, "seriesId,units of a micro-token" of
--   the holding that alone is leased from ('' for coin and grants), the most and the least units that the lease may rest with
--   beyond what is wanted (0 for none), the free units that the owner has of it; then per item of a sub-key: number of the
--   item from 0, id of its platform key, that one's cap for each span.
-- Returns: code of the call (0 or one of shared/lease.lua), nowMs, then 9 per item: code, units leased (or the units that
--   were left), retryAfterMs, permits, nanos of coin for the units that are not of grants, their grants as
--   `id,expiresAtMs,units;...`, the amount that the account has out in leases, permits that are left, whether the lease may
--   rest (1 or 0).
local OK, BALANCE, RATE, NO_ACCOUNT, BACKLOG = 0, 1, 6, 7, 10
local ITEM_KEYS, ITEM_ARGS, ITEM_RESULTS, PLATFORM_ARGS = 2, 13 + CAPS, 9, 2 + CAPS
-- At most this part of the free balance, and of the rest of each cap, is leased beyond the needs of waiting requests.
local EXTRA_PART = 16
-- At most this part of an account is out when another lease begins to rest.
local RESTS_PART = 4

-- The smallest rest of the caps, the first of them in ARGV[a]; and the index (from 0) of the one whose rest is below `least`.
local function leftWithin(a, spent, available, least)
  for i = 0, CAPS - 1 do
    local cap = tonumber(ARGV[a + i])
    if cap then
      local left = cap - spent[SPENT_AT + i]
      if left < least then return nil, i, math.max(left, 0) end
      available = math.min(available, left)
    end
  end
  return available
end

-- Whether a pot may be leased from: a holding where one is asked for, which is asked for alone; else any other pot.
local function isMeant(id, seriesId)
  if seriesId then return id == seriesId end
  return not isHolding(id)
end

-- Takes units from grants in their order; returns the units that remain to be taken, the parts, and their text for the
-- owner.
local function takeFromGrants(grants, units, seriesId)
  local parts, texts = {}, {}
  for _, grant in ipairs(grants) do
    if units > 0 and grant[2] > nowMs and grant[3] > 0 and isMeant(grant[1], seriesId) then
      local part = math.min(units, grant[3])
      grant[3] = grant[3] - part
      units = units - part
      parts[grant[1]] = part
      texts[#texts + 1] = format('%s,%d,%d', grant[1], grant[2], part)
    end
  end
  return units, parts, table.concat(texts, ';')
end

local function addToLease(field, accountId, keys, coinUnits, nanos, parts)
  local lease = leaseAt(field, accountId, keys)
  lease.coinUnits, lease.nanos = lease.coinUnits + coinUnits, lease.nanos + nanos
  for id, units in pairs(parts) do lease.parts[id] = (lease.parts[id] or 0) + units end
end

-- Permits of the rate: at most those that waiting requests need, and in advance a quarter of the rest. Returns permits, the
-- counter, wait, and the permits that are left.
local function takePermits(rate, tat, waiting, extra)
  if rate == '' or waiting + extra == 0 then return waiting + extra, nil, 0, 0 end
  local interval, burst = string.match(rate, '^(%d+),(%d+)$')
  interval, tat = tonumber(interval), math.max(tonumber(tat or 0), nowMicros)
  local room = nowMicros + interval * (burst - 1) - tat
  if room < 0 then return 0, nil, waiting > 0 and math.ceil(-room / 1000) or 0, 0 end
  local all = math.floor(room / interval) + 1
  local needed = math.min(waiting, all)
  local permits = needed + math.min(extra, math.floor((all - needed) / 4))
  return permits, tat + permits * interval, 0, all - permits
end

-- The units beyond what is wanted that a lease may rest with, the most of them in ARGV[a]: all of the lease is a small part
-- of what is available, and all leases of the account are a small part of what it has. 0 where it may not rest.
-- `pots`: what is free of coin and of grants, counted as `out`.
local function restOf(a, want, available, out, pots)
  local most, least = tonumber(ARGV[a]), tonumber(ARGV[a + 1])
  if most == 0 then return 0 end
  local rest = math.min(most, math.floor(available / tonumber(ARGV[4])) - want - tonumber(ARGV[a + 2]))
  if rest < least or (out + want + rest) * RESTS_PART > pots then return 0 end
  return rest
end

-- `field`: of the lease. `p` and `pa`: place in KEYS of the platform key's counters and in ARGV of its id; nil unless the key is
-- a sub-key.
local function leaseItem(k, a, field, p, pa)
  local account = redis.call('HMGET', KEYS[k], 'coin', 'g', 'out')
  if not account[1] then return NO_ACCOUNT, 0, 0, 0, 0, '', 0, 0, 0 end
  local out = tonumber(account[3] or 0)
  local counters = readSpent(KEYS[k + 1])
  local waiting, least, want = tonumber(ARGV[a + 2]), tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  local permits, tat, waitMs, left = takePermits(ARGV[a + (7 + CAPS)], counters[TAT_AT], waiting, tonumber(ARGV[a + 6]))
  if permits == 0 and waiting > 0 then return RATE, 0, waitMs, 0, 0, '', out, 0, 0 end

  local coin, grants, price = tonumber(account[1]), parseGrants(account[2]), tonumber(ARGV[a + (8 + CAPS)])
  local seriesId, microUnits
  if ARGV[a + (9 + CAPS)] ~= '' then seriesId, microUnits = string.match(ARGV[a + (9 + CAPS)], '^([^,]+),(%d+)$') end
  local available, pots = seriesId and 0 or valueOfCoin(coin, price), coin
  for _, grant in ipairs(grants) do
    if grant[2] > nowMs and isMeant(grant[1], seriesId) then available, pots = available + grant[3], pots + grant[3] end
  end
  -- A refusal counts against the rate as well: a key without money must not be a way to keep the gateway busy.
  local function refuse(code, rest)
    if tat then redis.call('HSET', KEYS[k + 1], 'tat', format('%d', tat)) end
    return code, math.max(rest, 0), 0, permits, 0, '', out, left, 0
  end
  -- A request that wants nothing, because a holding has paid for all of it, needs no balance.
  if available < least and want > 0 then return refuse(BALANCE, available) end
  local keys, platform, met, rest = ARGV[a + 1]
  if p then
    keys, platform = keys .. '/' .. ARGV[pa], readSpent(KEYS[p])
    available, met, rest = leftWithin(pa + 1, platform, available, least)
    if not available then return refuse(PLATFORM_CAP + met, rest) end
  end
  available, met, rest = leftWithin(a + 7, counters, available, least)
  if not available then return refuse(CAP + met, rest) end

  local units = math.max(math.min(want, available), 0)
  if available > want then units = units + math.min(tonumber(ARGV[a + 5]), math.floor((available - want) / EXTRA_PART)) end
  -- Credits that rest would have the account's other keys spend coin before them.
  local isMixed = coin > 0 and pots > coin
  local resting = isMixed and 0 or restOf(a + (10 + CAPS), want, available, out, pots)
  units = units + resting
  if seriesId then units = units - units % tonumber(microUnits) end
  if units == 0 then
    if tat then redis.call('HSET', KEYS[k + 1], 'tat', format('%d', tat)) end
    return OK, 0, 0, permits, 0, '', out, left, 0
  end
  local fromCoin, parts, text = takeFromGrants(grants, units, seriesId)
  local nanos = coinFor(fromCoin, price)
  out = out + nanos + units - fromCoin
  redis.call('HSET', KEYS[k], 'coin', format('%d', coin - nanos), 'g', formatGrants(grants), 'out', format('%d', out))
  addSpent(KEYS[k + 1], counters, units, tat)
  if p then addSpent(KEYS[p], platform, units) end
  addToLease(field, ARGV[a], keys, fromCoin, nanos, parts)
  return OK, units, 0, permits, nanos, text, out, left, resting > 0 and 1 or 0
end

local count, fields = tonumber(ARGV[5]), {}
for i = 0, count - 1 do fields[i + 1] = 'L:' .. ARGV[7 + i * ITEM_ARGS] .. ':' .. hourText end
local refused = refusalOf(KEYS[1], KEYS[2], ARGV[1], ARGV[2], fields)
if refused then return { refused, nowMs, redis.call('GET', KEYS[1]) or '' } end
local isBehind = redis.call('XLEN', KEYS[3]) >= tonumber(ARGV[3])
local p, pa = 4 + count * ITEM_KEYS, 6 + count * ITEM_ARGS
local reply = { OK, nowMs }
for i = 0, count - 1 do
  local results
  if isBehind then
    results = { BACKLOG, 0, 0, 0, 0, '', 0, 0, 0 }
  elseif tonumber(ARGV[pa]) == i then
    results = { leaseItem(4 + i * ITEM_KEYS, 6 + i * ITEM_ARGS, fields[i + 1], p, pa + 1) }
  else
    results = { leaseItem(4 + i * ITEM_KEYS, 6 + i * ITEM_ARGS, fields[i + 1]) }
  end
  if tonumber(ARGV[pa]) == i then p, pa = p + 1, pa + PLATFORM_ARGS end
  for j = 1, ITEM_RESULTS do reply[#reply + 1] = results[j] end
end
writeOwner(KEYS[2], { 'op', ARGV[2] })
return reply
