-- Gives back what was taken for a debit that will never be booked, once.
-- KEYS: epoch, account, debits, then the counters that it was counted in. ARGV: debitId.
-- Returns: 1 given back, 0 nothing is taken for it, -1 closed or account unknown: the loading of the shard sees to it.
local debit = redis.call('HGET', KEYS[3], ARGV[1])
if not debit then return 0 end
local coin = redis.call('HGET', KEYS[2], 'coin')
if redis.call('EXISTS', KEYS[1]) == 0 or not coin then return -1 end
local taken, hour, day, month = string.match(debit, '^([%d:]+)|%d+|[^|]*|[^|]*|(%d+)|(%d+)|(%d+)$')
local units, nanos = parseCoin(taken)

local function int(number)
  return string.format('%.0f', number)
end

local function refund(countersKey)
  local c = redis.call('HMGET', countersKey, 'hw', 'hs', 'dw', 'ds', 'mw', 'ms', 'bs')
  redis.call('HSET', countersKey, 'bs', int(tonumber(c[7] or 0) - units))
  if c[1] == hour then redis.call('HSET', countersKey, 'hs', int(tonumber(c[2]) - units)) end
  if c[3] == day then redis.call('HSET', countersKey, 'ds', int(tonumber(c[4]) - units)) end
  if c[5] == month then redis.call('HSET', countersKey, 'ms', int(tonumber(c[6]) - units)) end
end

redis.call('HDEL', KEYS[3], ARGV[1])
redis.call('HSET', KEYS[2], 'coin', int(tonumber(coin) + nanos))
for k = 4, #KEYS do refund(KEYS[k]) end
return 1
