-- Takes holds. For each item: all checks, then all writes (a refusal writes the rate alone); items see the writes of earlier
-- items. KEYS, 5 per item: epoch, account, key counters, holds of the owner, ledger stream; then one per item of a sub-key:
-- the counters of its platform key.
-- ARGV: item count, most entries a ledger stream may hold; then per item: requestId, accountId, keyId, wantUnits, minUnits,
--   a cap for each span ('' for none), microseconds between requests and burst ('' for no rate limit) as "interval,burst",
--   meta, units in one coin; then per item of a sub-key, in the order of the items: number of the item from 0, id of its
--   platform key, and that one's cap for each span
-- Returns: nowMs, then 3 per item: code, heldUnits (or the units that were left), retryAfterMs; then for each item the split
--   of its hold, as `grantId=units,...,coin=units:nanos`; for a refusal by the balance or a cap, the amount that the account
--   has out in leases; '' for other refusals.
local ITEM_KEYS, ITEM_ARGS, PLATFORM_ARGS = 5, 8 + CAPS, 2 + CAPS
local OK, BALANCE, RATE, NO_ACCOUNT, DUPLICATE, CLOSED, BACKLOG = 0, 1, 6, 7, 8, 9, 10

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
local function refuse(k, a, tat, code, left, out)
  if redis.call('HEXISTS', KEYS[k + 3], ARGV[a]) == 1 then return DUPLICATE, 0, 0 end
  if tat then redis.call('HSET', KEYS[k + 2], 'tat', tat) end
  return code, left, 0, out or '0'
end

-- Shrinks an amount to the rest of the caps, the first of them in ARGV[a]. Returns it; or nil, the index (from 0) of the
-- cap whose rest is below `least`, and that rest.
local function withinCaps(a, amount, least, spent)
  for i = 0, CAPS - 1 do
    local cap = ARGV[a + i]
    if cap ~= '' then
      local left = tonumber(cap) - spent[SPENT_AT + i]
      if left < least then return nil, i, math.max(left, 0) end
      amount = math.min(amount, left)
    end
  end
  return amount
end

local NO_GRANTS = {}
local epochs, backlogs = {}, {}
local streamMax = tonumber(ARGV[2])

-- `p` and `pa`: place in KEYS of the platform key's counters and in ARGV of its id; nil unless the key is a sub-key.
local function holdItem(k, a, p, pa)
  -- Lua reads a local variable faster than a global one.
  local KEYS, ARGV, call = KEYS, ARGV, redis.call
  local epoch = epochs[KEYS[k]]
  if epoch == nil then
    epoch = call('GET', KEYS[k])
    epochs[KEYS[k]] = epoch
  end
  if not epoch then return CLOSED, 0, 0 end
  local stream = KEYS[k + 4]
  if backlogs[stream] == nil then backlogs[stream] = call('XLEN', stream) end
  if backlogs[stream] >= streamMax then return BACKLOG, 0, 0 end

  local account = call('HMGET', KEYS[k + 1], 'coin', 'g', 'out')
  if not account[1] then return NO_ACCOUNT, 0, 0 end
  local counters = readSpent(KEYS[k + 2])

  local tat
  if ARGV[a + (5 + CAPS)] ~= '' then
    local interval, burst = string.match(ARGV[a + (5 + CAPS)], '^(%d+),(%d+)$')
    tat = math.max(tonumber(counters[TAT_AT] or 0), nowMicros)
    local wait = tat - nowMicros - interval * (burst - 1)
    if wait > 0 then
      if call('HEXISTS', KEYS[k + 3], ARGV[a]) == 1 then return DUPLICATE, 0, 0 end
      return RATE, 0, math.ceil(wait / 1000)
    end
    tat = tat + interval
  end

  local coin, price = tonumber(account[1]), tonumber(ARGV[a + (7 + CAPS)])
  local grants = NO_GRANTS
  local available = valueOfCoin(coin, price)
  if account[2] and account[2] ~= '' then
    grants = parseGrants(account[2])
    for _, grant in ipairs(grants) do
      if grant[2] > nowMs and not isHolding(grant[1]) then available = available + grant[3] end
    end
  end

  local want, least = tonumber(ARGV[a + 3]), tonumber(ARGV[a + 4])
  if available < least then return refuse(k, a, tat, BALANCE, available, account[3]) end
  local amount = math.min(want, available)

  local met, left
  local keys, shared = ARGV[a + 2]
  if p then
    keys = keys .. '/' .. ARGV[pa]
    shared = readSpent(KEYS[p])
    amount, met, left = withinCaps(pa + 1, amount, least, shared)
    if not amount then return refuse(k, a, tat, PLATFORM_CAP + met, left, account[3]) end
  end
  amount, met, left = withinCaps(a + 5, amount, least, counters)
  if not amount then return refuse(k, a, tat, CAP + met, left, account[3]) end

  local need, split = takeFromGrants(grants, amount)
  local hold = format('%d|%d|%s|%s|%s|%s|%s|%s',
    amount, nowMs, ARGV[a + 1], keys, countedNow, heldCoinText(need, price), split, ARGV[a + (6 + CAPS)])
  -- The first of the writes, as it finds out whether the request has its hold already.
  if call('HSETNX', KEYS[k + 3], ARGV[a], hold) == 0 then return DUPLICATE, 0, 0 end
  local nanos = coinFor(need, price)
  local left = format('%d', coin - nanos)
  if split ~= '' then
    call('HSET', KEYS[k + 1], 'coin', left, 'g', formatGrants(grants))
  else
    call('HSET', KEYS[k + 1], 'coin', left)
  end
  addSpent(KEYS[k + 2], counters, amount, tat)
  if p then addSpent(KEYS[p], shared, amount) end
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
