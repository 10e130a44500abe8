-- Ends holds, each exactly once: frees the hold, takes the charge, appends to the ledger stream.
-- KEYS, 6 per item: epoch, account, key counters, holds of the owner, ledger stream, prefix of the done hashes.
-- ARGV: item count, minutes that first results are remembered; then 3 per item: requestId, chargeUnits (-1 voids),
--   Settlement.
-- Returns 2 per item: code, charged units (-1 for a void).
local ITEM_KEYS, ITEM_ARGS = 6, 3
local SETTLED, ALREADY_SETTLED, ALREADY_VOIDED, UNKNOWN, CLOSED = 0, 1, 2, 3, 4

local rememberMinutes = tonumber(ARGV[2])

local function resultOf(prefix, requestId)
  local done = firstResult(prefix, requestId, rememberMinutes)
  if done == 'v' then return ALREADY_VOIDED, -1 end
  if done then return ALREADY_SETTLED, tonumber(done) end
  return UNKNOWN, 0
end

-- Spends the charge from the parts of the hold in their order, coin last and at the price of the hold, and gives the rest back.
local function release(accountKey, coinPart, parts, charge)
  local left, split, back = charge, '', nil
  if parts ~= '' then
    for id, text in string.gmatch(parts, '([^=,]+)=(%d+)') do
      local part = tonumber(text)
      local taken = math.min(left, part)
      left = left - taken
      if taken > 0 then split = format(split == '' and '%s%s=%d' or '%s,%s=%d', split, id, taken) end
      if part > taken then
        back = back or {}
        back[id] = part - taken
      end
    end
  end
  local held, price = parseHeldCoin(coinPart)
  local taken = coinFor(left, price)
  if left > 0 then split = format(split == '' and '%scoin=%s' or '%s,coin=%s', split, coinText(left, taken)) end
  local coinBack = coinFor(held, price) - taken
  if coinBack > 0 then redis.call('HINCRBY', accountKey, 'coin', format('%d', coinBack)) end
  if back then
    local grants = string.gsub(redis.call('HGET', accountKey, 'g') or '', '([^,;]+),(%d+),(%-?%d+)',
      function(id, expires, free)
        if back[id] then return format('%s,%s,%d', id, expires, tonumber(free) + back[id]) end
      end)
    redis.call('HSET', accountKey, 'g', grants)
  end
  return split
end

local open = {}
local function isOpen(epochKey)
  if open[epochKey] == nil then open[epochKey] = redis.call('EXISTS', epochKey) == 1 end
  return open[epochKey]
end

local function settleItem(k, a)
  local hold = redis.call('HGET', KEYS[k + 3], ARGV[a])
  if not hold then
    local code, units = resultOf(KEYS[k + 5], ARGV[a])
    if code == UNKNOWN and not isOpen(KEYS[k]) then return CLOSED, 0 end
    return code, units
  end
  if not isOpen(KEYS[k]) then return CLOSED, 0 end
  local amount, heldAt, platformKeyId, hour, coinPart, parts =
    string.match(inCurrentForm(hold), '^(%d+)|(%d+)|[^|]*|[^|/]*/?([^|]*)|v2:(%d+)|([%d@]+)|([^|]*)|')
  amount = tonumber(amount)
  local asked = tonumber(ARGV[a + 1])
  local charge = math.max(0, math.min(asked, amount))
  local charged = asked < 0 and -1 or charge

  redis.call('HDEL', KEYS[k + 3], ARGV[a])
  local split = release(KEYS[k + 1], coinPart, parts, charge)
  if amount > charge then
    refundWindows(KEYS[k + 2], hour, amount - charge)
    if platformKeyId ~= '' then
      refundWindows(siblingKey(KEYS[k + 2], platformKeyId), hour, amount - charge)
    end
  end
  redis.call('XADD', KEYS[k + 4], '*', 'e', ARGV[a + 2], 'c', format('%d', charged), 't', heldAt, 's', split)
  remember(KEYS[k + 5], ARGV[a], charged, rememberMinutes)
  return SETTLED, charged
end

local reply = {}
for i = 0, tonumber(ARGV[1]) - 1 do
  reply[1 + i * 2], reply[2 + i * 2] = settleItem(1 + i * ITEM_KEYS, 3 + i * ITEM_ARGS)
end
return reply
