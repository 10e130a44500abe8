-- Takes holds. For each item: all checks, then all writes (a refusal writes the rate alone); items see the writes of earlier
-- items. KEYS, 5 per item: epoch, account, key counters, holds of the owner, ledger stream; then one per item of a sub-key:
-- the counters of its platform key.
-- ARGV: item count, most entries a ledger stream may hold; then 12 per item: requestId, accountId, keyId, wantUnits,
--   minUnits, capHour, capDay, capMonth, budget ('' for none), microseconds between requests and burst ('' for no rate
--   limit) as "interval,burst", meta, units in one coin; then 6 per item of a sub-key, in the order of the items: number of
--   the item from 0, id of its platform key, and that one's capHour, capDay, capMonth, budget
-- Returns: nowMs, then 3 per item: code, heldUnits (or the units that were left), retryAfterMs; then for each item the split
--   of its hold, as `grantId=units,...,coin=units:nanos` ('' for a refusal).
local ITEM_KEYS, ITEM_ARGS, PLATFORM_ARGS = 5, 12, 6
local OK, BALANCE, CAP_HOUR, CAP_DAY, CAP_MONTH, BUDGET, RATE, NO_ACCOUNT, DUPLICATE, CLOSED, BACKLOG =
  0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10
local PLATFORM_CAP_HOUR = 11

local windowsText = hourText .. '|' .. dayText .. '|' .. monthText

-- Takes units from the rest of the grants, the soonest to expire first; returns the units that remain to be taken, and the
-- split.
local function takeFromGrants(grants, units)
  local split = ''
  for _, grant in ipairs(grants) do
    if units > 0 and grant[2] > nowMs and grant[3] > 0 and not isHolding(grant[1]) then
      local part = math.min(units, grant[3])
      grant[3] = grant[3] - part
      units = units - part
      split = format(split == '' and '%s%s=%d' or '%s,%s=%d', split, grant[1], part)
    end
  end
  return units, split
end

-- A refusal counts against the rate as well: a key without money must not be a way to keep the gateway busy.
local function refuse(k, a, tat, code, left)
  if redis.call('HEXISTS', KEYS[k + 3], ARGV[a]) == 1 then return DUPLICATE, 0, 0 end
  if tat then redis.call('HSET', KEYS[k + 2], 'tat', tat) end
  return code, left, 0
end

-- Shrinks an amount to the rest of four caps, the first of them in ARGV[a]. Returns it; or nil, the index (from 0) of the
-- cap whose rest is below `least`, and that rest.
local function withinCaps(a, amount, least, hour, day, month, life)
  for i = 0, 3 do
    local cap = ARGV[a + i]
    if cap ~= '' then
      local left = tonumber(cap) - (i == 0 and hour or i == 1 and day or i == 2 and month or life)
      if left < least then return nil, i, math.max(left, 0) end
      amount = math.min(amount, left)
    end
  end
  return amount
end

-- Writes the new values of counters; their windows only when one of them differs from the one that was read.
local function count(key, was, hour, day, month, life, tat)
  if was[1] ~= hourText or was[3] ~= dayText or was[5] ~= monthText then
    redis.call('HSET', key, 'hw', hourText, 'dw', dayText, 'mw', monthText)
  end
  local hs, ds, ms, bs = format('%d', hour), format('%d', day), format('%d', month), format('%d', life)
  if tat then
    redis.call('HSET', key, 'hs', hs, 'ds', ds, 'ms', ms, 'bs', bs, 'tat', format('%d', tat))
  else
    redis.call('HSET', key, 'hs', hs, 'ds', ds, 'ms', ms, 'bs', bs)
  end
end

local NO_GRANTS = {}
local epochs, backlogs = {}, {}
local streamMax = tonumber(ARGV[2])

-- `p` and `pa`: place in KEYS of the platform key's counters and in ARGV of its id; nil unless the key is a sub-key.
local function holdItem(k, a, p, pa)
  local epoch = epochs[KEYS[k]]
  if epoch == nil then
    epoch = redis.call('GET', KEYS[k])
    epochs[KEYS[k]] = epoch
  end
  if not epoch then return CLOSED, 0, 0 end
  local stream = KEYS[k + 4]
  if backlogs[stream] == nil then backlogs[stream] = redis.call('XLEN', stream) end
  if backlogs[stream] >= streamMax then return BACKLOG, 0, 0 end

  local account = redis.call('HMGET', KEYS[k + 1], 'coin', 'g')
  if not account[1] then return NO_ACCOUNT, 0, 0 end
  local counters = readCounters(KEYS[k + 2])

  local tat
  if ARGV[a + 9] ~= '' then
    local interval, burst = string.match(ARGV[a + 9], '^(%d+),(%d+)$')
    tat = math.max(tonumber(counters[8] or 0), nowMicros)
    local wait = tat - nowMicros - interval * (burst - 1)
    if wait > 0 then
      if redis.call('HEXISTS', KEYS[k + 3], ARGV[a]) == 1 then return DUPLICATE, 0, 0 end
      return RATE, 0, math.ceil(wait / 1000)
    end
    tat = tat + interval
  end

  local coin, price = tonumber(account[1]), tonumber(ARGV[a + 11])
  local grants = NO_GRANTS
  local available = valueOfCoin(coin, price)
  if account[2] and account[2] ~= '' then
    grants = parseGrants(account[2])
    for _, grant in ipairs(grants) do
      if grant[2] > nowMs and not isHolding(grant[1]) then available = available + grant[3] end
    end
  end

  local want, least = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  if available < least then return refuse(k, a, tat, BALANCE, available) end
  local amount = math.min(want, available)

  local met, left
  local keys, shared, sharedHour, sharedDay, sharedMonth, sharedLife = ARGV[a + 2]
  if p then
    keys = keys .. '/' .. ARGV[pa]
    shared = readCounters(KEYS[p])
    sharedHour, sharedDay, sharedMonth, sharedLife = spentOf(shared)
    amount, met, left = withinCaps(pa + 1, amount, least, sharedHour, sharedDay, sharedMonth, sharedLife)
    if not amount then return refuse(k, a, tat, PLATFORM_CAP_HOUR + met, left) end
  end
  local hourSpent, daySpent, monthSpent, lifeSpent = spentOf(counters)
  amount, met, left = withinCaps(a + 5, amount, least, hourSpent, daySpent, monthSpent, lifeSpent)
  if not amount then return refuse(k, a, tat, CAP_HOUR + met, left) end

  local need, split = takeFromGrants(grants, amount)
  local hold = format('%d|%d|%s|%s|%s|%s|%s|%s',
    amount, nowMs, ARGV[a + 1], keys, windowsText, heldCoinText(need, price), split, ARGV[a + 10])
  -- The first of the writes, as it finds out whether the request has its hold already.
  if redis.call('HSETNX', KEYS[k + 3], ARGV[a], hold) == 0 then return DUPLICATE, 0, 0 end
  local nanos = coinFor(need, price)
  local left = format('%d', coin - nanos)
  if split ~= '' then
    redis.call('HSET', KEYS[k + 1], 'coin', left, 'g', formatGrants(grants))
  else
    redis.call('HSET', KEYS[k + 1], 'coin', left)
  end
  count(KEYS[k + 2], counters, hourSpent + amount, daySpent + amount, monthSpent + amount, lifeSpent + amount, tat)
  if p then
    count(KEYS[p], shared, sharedHour + amount, sharedDay + amount, sharedMonth + amount, sharedLife + amount)
  end
  if need > 0 then split = format(split == '' and '%scoin=%s' or '%s,coin=%s', split, coinText(need, nanos)) end
  return OK, amount, 0, split
end

local reply = { nowMs }
local count = tonumber(ARGV[1])
local p, pa = 1 + count * ITEM_KEYS, 3 + count * ITEM_ARGS
local nextSubKey = tonumber(ARGV[pa])
for i = 0, count - 1 do
  local k = 1 + i * ITEM_KEYS
  local code, units, retryMs, split
  if i == nextSubKey then
    code, units, retryMs, split = holdItem(k, 3 + i * ITEM_ARGS, p, pa + 1)
    p, pa = p + 1, pa + PLATFORM_ARGS
    nextSubKey = tonumber(ARGV[pa])
  else
    code, units, retryMs, split = holdItem(k, 3 + i * ITEM_ARGS)
  end
  reply[2 + i * 3], reply[3 + i * 3], reply[4 + i * 3] = code, units, retryMs
  reply[2 + count * 3 + i] = split or ''
end
return reply
