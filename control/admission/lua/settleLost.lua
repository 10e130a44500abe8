-- Charges a request whose hold was lost together with the admission state, once: takes what the account has free, up
-- to the charge, grants before coin, soonest expiry first, and tells the book.
-- KEYS: epoch, account, key counters, ledger stream, then the done hashes of this and earlier minutes, newest first.
-- ARGV: requestId, chargeUnits (-1 voids), Settlement, minutes since 1970 of the first done hash, minutes to remember,
--   months since 1970, id of the platform key when the key is a sub-key, else '', whether it waits for leases to give back
--   what lacks (1, else 0), whether all is charged, whatever the account has free (1, else 0), units in one coin.
-- Returns: code (0 charged now, 1 ended before, 2 closed, 3 no such account, 4 clock ran on, call again, 5 leases have what lacks, call
--   again), units charged,
--   -1 for a void.
if redis.call('EXISTS', KEYS[1]) == 0 then return { 2, 0 } end
local time = redis.call('TIME')
local nowSec = tonumber(time[1])
local nowMs = nowSec * 1000 + math.floor(tonumber(time[2]) / 1000)
if math.floor(nowSec / 60) ~= tonumber(ARGV[4]) then return { 4, 0 } end
for i = 5, #KEYS do
  local done = redis.call('HGET', KEYS[i], ARGV[1])
  if done == 'v' then return { 1, -1 } end
  if done then return { 1, tonumber(done) } end
end
local account = redis.call('HMGET', KEYS[2], 'coin', 'g', 'out')
if not account[1] then return { 3, 0 } end

local function int(number)
  return string.format('%.0f', number)
end

local function count(countersKey, units)
  local counters = redis.call('HMGET', countersKey, 'hw', 'hs', 'dw', 'ds', 'mw', 'ms', 'bs')
  local now = { int(math.floor(nowSec / 3600)), int(math.floor(nowSec / 86400)), ARGV[6] }
  for i, name in ipairs({ 'h', 'd', 'm' }) do
    local spent = counters[i * 2 - 1] == now[i] and tonumber(counters[i * 2]) or 0
    redis.call('HSET', countersKey, name .. 'w', now[i], name .. 's', int(spent + units))
  end
  redis.call('HSET', countersKey, 'bs', int(tonumber(counters[7] or 0) + units))
end

local asked = tonumber(ARGV[2])
local left, split = math.max(asked, 0), {}
local grants = string.gsub(account[2] or '', '([^,;]+),(%d+),(%-?%d+)', function(id, expires, free)
  if left == 0 or tonumber(expires) <= nowMs or tonumber(free) <= 0 then return nil end
  local part = math.min(left, tonumber(free))
  left = left - part
  split[#split + 1] = id .. '=' .. int(part)
  return id .. ',' .. expires .. ',' .. int(tonumber(free) - part)
end)
local price = tonumber(ARGV[10])
local fromCoin = ARGV[9] == '1' and left or math.min(left, valueOfCoin(math.max(tonumber(account[1]), 0), price))
local nanos = coinFor(fromCoin, price)
left = left - fromCoin
if fromCoin > 0 then split[#split + 1] = 'coin=' .. coinText(fromCoin, nanos) end
if left > 0 and ARGV[8] == '1' and tonumber(account[3] or 0) > 0 then return { 5, 0 } end
local charged = asked < 0 and -1 or asked - left
if charged > 0 then
  redis.call('HSET', KEYS[2], 'coin', int(tonumber(account[1]) - nanos), 'g', grants)
  count(KEYS[3], charged)
  if ARGV[7] ~= '' then count(string.match(KEYS[3], '^.*:') .. ARGV[7], charged) end
end
redis.call('XADD', KEYS[4], '*', 'e', ARGV[3], 'c', int(charged), 't', int(nowMs), 's', table.concat(split, ','))
redis.call('HSET', KEYS[5], ARGV[1], charged < 0 and 'v' or int(charged))
redis.call('EXPIRE', KEYS[5], (tonumber(ARGV[5]) + 2) * 60)
return { 0, charged }
