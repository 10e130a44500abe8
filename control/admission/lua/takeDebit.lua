-- Takes coin off an account, so that no request can hold it, until the book has it moved or it is given back.
-- KEYS: epoch, account, debits; then, when a key spends, its counters, and of a sub-key those of its platform key.
-- ARGV: debitId, accountId, keys ('' for none, keyId, keyId/platformKeyId), nanos of coin, units that they are worth,
--   hours and months since 1970 as the caller read the clock, the servers that the state was loaded into ('' for any);
--   then for each of the counters capHour, capDay, capMonth, budget ('' for none) in units.
-- Returns: code (0 taken, 1 balance, 2 to 4 caps, 5 budget, 7 no such account, 8 taken before, 9 closed, 11 to 13 caps and
--   14 budget of the platform key, 20 clock ran on), what was left, nowMs, what of the account is out in leases.
local time = redis.call('TIME')
local nowSec = tonumber(time[1])
local nowMs = nowSec * 1000 + math.floor(tonumber(time[2]) / 1000)
if redis.call('EXISTS', KEYS[1]) == 0 then return { 9, 0, nowMs, 0 } end
if ARGV[8] ~= '' then
  -- A server that took over may have coin that was spent.
  local runId = string.match(redis.call('INFO', 'server'), 'run_id:(%w+)')
  local replicationId = string.match(redis.call('INFO', 'replication'), 'master_replid:(%w+)')
  local server = ',' .. (runId or '') .. '/' .. (replicationId or '') .. ','
  if not string.find(',' .. ARGV[8] .. ',', server, 1, true) then return { 9, 0, nowMs, 0 } end
end
if math.floor(nowSec / 3600) ~= tonumber(ARGV[6]) then return { 20, 0, nowMs, 0 } end
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return { 8, 0, nowMs, 0 } end
local account = redis.call('HMGET', KEYS[2], 'coin', 'out')
if not account[1] then return { 7, 0, nowMs, 0 } end

local function int(number)
  return string.format('%.0f', number)
end

local nanos, units = tonumber(ARGV[4]), tonumber(ARGV[5])
local coin, out = tonumber(account[1]), tonumber(account[2] or 0)
if coin < nanos then return { 1, math.max(coin, 0), nowMs, out } end

local hour, day, month = ARGV[6], int(math.floor(nowSec / 86400)), ARGV[7]
local spentBy = {}
-- The platform key first: where its cap is met, raising the sub-key's own would not help.
for k = #KEYS, 4, -1 do
  local c = redis.call('HMGET', KEYS[k], 'hw', 'hs', 'dw', 'ds', 'mw', 'ms', 'bs')
  local spent = {
    c[1] == hour and tonumber(c[2]) or 0,
    c[3] == day and tonumber(c[4]) or 0,
    c[5] == month and tonumber(c[6]) or 0,
    tonumber(c[7] or 0),
  }
  for i = 1, 4 do
    local cap = ARGV[8 + (k - 4) * 4 + i]
    if cap ~= '' and tonumber(cap) - spent[i] < units then
      return { (k == 4 and 1 or 10) + i, math.max(tonumber(cap) - spent[i], 0), nowMs, out }
    end
  end
  spentBy[k] = spent
end
for k, spent in pairs(spentBy) do
  redis.call('HSET', KEYS[k],
    'hw', hour, 'hs', int(spent[1] + units), 'dw', day, 'ds', int(spent[2] + units),
    'mw', month, 'ms', int(spent[3] + units), 'bs', int(spent[4] + units))
end
redis.call('HSET', KEYS[2], 'coin', int(coin - nanos))
redis.call('HSET', KEYS[3], ARGV[1], table.concat({ coinText(units, nanos), int(nowMs), ARGV[2], ARGV[3], hour, day, month }, '|'))
return { 0, coin - nanos, nowMs, out }
