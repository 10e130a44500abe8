-- Removes the free part of an expired grant from the account and reports it to the book through the ledger stream. Held
-- parts are freed when their holds end; the next sweep removes those. Mode 'drop' removes an empty grant.
-- KEYS: account, ledger stream. ARGV: 'expire' or 'drop', grantId, accountId. Returns the units taken, or -1 when the grant
--   is not (or no longer) there, or not empty in mode 'drop'.
local grants = redis.call('HGET', KEYS[1], 'g') or ''
local time = redis.call('TIME')
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local parts, taken = {}, -1
for id, expires, free in string.gmatch(grants, '([^,;]+),(%d+),(%-?%d+)') do
  if id == ARGV[2] and ARGV[1] == 'drop' and tonumber(free) == 0 then
    taken = 0
  elseif id == ARGV[2] and ARGV[1] == 'expire' and tonumber(expires) <= nowMs and tonumber(free) >= 0 then
    taken = tonumber(free)
    parts[#parts + 1] = id .. ',' .. expires .. ',0'
  else
    parts[#parts + 1] = id .. ',' .. expires .. ',' .. free
  end
end
if taken < 0 then return -1 end
redis.call('HSET', KEYS[1], 'g', table.concat(parts, ';'))
if taken > 0 then
  redis.call('XADD', KEYS[2], '*', 'x', ARGV[2], 'a', ARGV[3], 'c', string.format('%.0f', taken))
end
return taken
