-- Charges a request whose hold was lost together with the admission state, once: takes the available balance
-- of the account, up to the charge, grants before coin, soonest expiry first, and reports it to the book.
-- KEYS: epoch, account, key counters, ledger stream, prefix of the done hashes.
-- ARGV: requestId, chargeUnits (-1 voids), Settlement, minutes to remember, id of the platform key when the key is a sub-key,
--   else '', whether it waits for leases to give back missing units (1, else 0), whether all is charged, regardless of the
--   available balance (1, else 0), units in one coin.
-- Returns: code (0 charged now, 1 ended before, 2 closed, 3 no such account, 5 leases have the missing units, call again), units
--   charged, -1 for a void.
if redis.call('EXISTS', KEYS[1]) == 0 then return { 2, 0 } end
local rememberMinutes = tonumber(ARGV[4])
local done = firstResult(KEYS[5], ARGV[1], rememberMinutes)
if done then return { 1, done == 'v' and -1 or tonumber(done) } end
local account = redis.call('HMGET', KEYS[2], 'coin', 'g', 'out')
if not account[1] then return { 3, 0 } end

local asked = tonumber(ARGV[2])
local left, split = math.max(asked, 0), {}
local grants = string.gsub(account[2] or '', '([^,;]+),(%d+),(%-?%d+)', function(id, expires, free)
  if left == 0 or tonumber(expires) <= nowMs or tonumber(free) <= 0 or isHolding(id) then return nil end
  local part = math.min(left, tonumber(free))
  left = left - part
  split[#split + 1] = format('%s=%d', id, part)
  return format('%s,%s,%d', id, expires, tonumber(free) - part)
end)
local price = tonumber(ARGV[8])
local fromCoin = ARGV[7] == '1' and left or math.min(left, valueOfCoin(math.max(tonumber(account[1]), 0), price))
local nanos = coinFor(fromCoin, price)
left = left - fromCoin
if fromCoin > 0 then split[#split + 1] = 'coin=' .. coinText(fromCoin, nanos) end
if left > 0 and ARGV[6] == '1' and tonumber(account[3] or 0) > 0 then return { 5, 0 } end
local charged = asked < 0 and -1 or asked - left
if charged > 0 then
  redis.call('HSET', KEYS[2], 'coin', format('%d', tonumber(account[1]) - nanos), 'g', grants)
  countNow(KEYS[3], charged)
  if ARGV[5] ~= '' then countNow(siblingKey(KEYS[3], ARGV[5]), charged) end
end
redis.call('XADD', KEYS[4], '*', 'e', ARGV[3], 'c', format('%d', charged), 't', format('%d', nowMs), 's', table.concat(split, ','))
remember(KEYS[5], ARGV[1], charged, rememberMinutes)
return { 0, charged }
