-- Takes coin, or tokens of a holding, off an account, so that no request can hold it, until the book has it moved or it is
-- given back.
-- KEYS: epoch, account, debits; then, when a key spends, its counters, and of a sub-key those of its platform key.
-- ARGV: debitId, accountId, keys ('' for none, keyId, keyId/platformKeyId), nanos of coin (0 for tokens), units that they
--   are worth, the servers that the state was loaded into ('' for any), the holding that the units are taken from ('' for
--   coin);
--   of a holding 'ended' where its end does not matter; of coin for each of the counters its caps in units ('' for none), in the order of SPANS.
-- Returns: code (0 taken, 1 balance, 7 no such account, 8 taken before, 9 closed, or of a cap, of
--   the platform key's too, as ../../../contract/wire/caps.ts lists them), the balance left, nowMs, the part of the account that is out in leases.
if redis.call('EXISTS', KEYS[1]) == 0 then return { 9, 0, nowMs, 0 } end
-- After a failover, the new server may still have coin that was spent.
if ARGV[6] ~= '' and not string.find(',' .. ARGV[6] .. ',', ',' .. serverName() .. ',', 1, true) then
  return { 9, 0, nowMs, 0 }
end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return { 8, 0, nowMs, 0 } end
local account = redis.call('HMGET', KEYS[2], 'coin', 'out', 'g')
if not account[1] then return { 7, 0, nowMs, 0 } end

local nanos, units = tonumber(ARGV[4]), tonumber(ARGV[5])
local coin, out = tonumber(account[1]), tonumber(account[2] or 0)
if coin < nanos then return { 1, math.max(coin, 0), nowMs, out } end

-- Tokens count in no window, so that a holding is all that there is to check.
if ARGV[7] ~= '' then
  local grants, left = parseGrants(account[3]), 0
  for _, grant in ipairs(grants) do
    if grant[1] == ARGV[7] and (grant[2] > nowMs or ARGV[8] == 'ended') then
      left = math.max(grant[3], 0)
      if left >= units then grant[3] = grant[3] - units end
    end
  end
  if left < units then return { 1, left, nowMs, out } end
  redis.call('HSET', KEYS[2], 'g', formatGrants(grants))
  redis.call('HSET', KEYS[3], ARGV[1], table.concat({
    '0', format('%d', nowMs), ARGV[2], '', countedNow, format('%s=%d', ARGV[7], units),
  }, '|'))
  return { 0, left - units, nowMs, out }
end

-- The platform key first: where its cap is met, raising the sub-key's own would not help.
for k = #KEYS, 4, -1 do
  local spent = readSpent(KEYS[k])
  for i = 0, CAPS - 1 do
    local cap = ARGV[8 + (k - 4) * CAPS + i]
    if cap ~= '' and tonumber(cap) - spent[SPENT_AT + i] < units then
      return { (k == 4 and CAP or PLATFORM_CAP) + i, math.max(tonumber(cap) - spent[SPENT_AT + i], 0), nowMs, out }
    end
  end
end
for k = 4, #KEYS do countNow(KEYS[k], units) end
redis.call('HSET', KEYS[2], 'coin', format('%d', coin - nanos))
redis.call('HSET', KEYS[3], ARGV[1], table.concat({
  coinText(units, nanos), format('%d', nowMs), ARGV[2], ARGV[3], countedNow,
}, '|'))
return { 0, coin - nanos, nowMs, out }
