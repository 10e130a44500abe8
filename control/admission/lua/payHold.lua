-- Takes the hold of a request that was just paid for, in the name of the proxy that serves it. The credit of the payment is
-- passed along, so that the request does not wait for the dispatcher; events that were applied before change nothing.
-- Balances of payers of single requests are kept in units, so nothing is converted here.
-- KEYS: epoch, account, key counters, holds of the owner, ledger stream.
-- ARGV: requestId, accountId, keyId, units, meta, latest time in ms, most entries of the stream, then
--   the account's waiting events in order, each seq and coinDelta.
-- Returns: code (0 held, 1 closed, 2 too late, 3 earlier events are missing, 4 balance, 5 backlog), time it was held at.
local OK, CLOSED, LATE, BEHIND, BALANCE, BACKLOG = 0, 1, 2, 3, 4, 5
if redis.call('EXISTS', KEYS[1]) == 0 then return { CLOSED, 0 } end
if nowMs > tonumber(ARGV[6]) then return { LATE, 0 } end
if redis.call('XLEN', KEYS[5]) >= tonumber(ARGV[7]) then return { BACKLOG, 0 } end

local held = redis.call('HGET', KEYS[4], ARGV[1])
if held then return { OK, tonumber(string.match(held, '^%d+|(%d+)|')) } end

local account = redis.call('HMGET', KEYS[2], 'coin', 'seq')
local coin, last = tonumber(account[1] or 0), tonumber(account[2] or 0)
for i = 8, #ARGV, 2 do
  local seq = tonumber(ARGV[i])
  if seq > last + 1 then return { BEHIND, 0 } end
  if seq == last + 1 then
    coin = coin + tonumber(ARGV[i + 1])
    last = seq
  end
end
local units = tonumber(ARGV[4])
if coin < units then return { BALANCE, 0 } end

local unitsText = format('%d', units)
redis.call('HSET', KEYS[2], 'coin', format('%d', coin - units), 'seq', format('%d', last))
countNow(KEYS[3], units)
redis.call('HSET', KEYS[4], ARGV[1], table.concat({
  unitsText, format('%d', nowMs), ARGV[2], ARGV[3], countedNow, unitsText, '', ARGV[5],
}, '|'))
return { OK, nowMs }
