-- Gives back the amount taken for a debit that will never be booked, once.
-- KEYS: epoch, account, debits, then the counters that it was counted in. ARGV: debitId.
-- Returns: 1 given back, 0 nothing is taken for it, -1 closed or account unknown: the loading of the shard handles it.
local debit = redis.call('HGET', KEYS[3], ARGV[1])
if not debit then return 0 end
local coin = redis.call('HGET', KEYS[2], 'coin')
if redis.call('EXISTS', KEYS[1]) == 0 or not coin then return -1 end
local tokens = string.match(debit, '|([^|=]+=%d+)$')
if tokens then
  redis.call('HDEL', KEYS[3], ARGV[1])
  changeAccount(KEYS[2], 1, 0, parseParts(tokens), 0)
  return 1
end
local taken, hour = string.match(inCurrentForm(debit), '^([%d:]+)|%d+|[^|]*|[^|]*|v2:(%d+)$')
local units, nanos = parseCoin(taken)

redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HSET', KEYS[2], 'coin', format('%d', tonumber(coin) + nanos))
for k = 4, #KEYS do refundWindows(KEYS[k], hour, units) end
return 1
