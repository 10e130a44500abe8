-- Applies one event of the book to an account, once, in the order of its sequence numbers. Event 1 creates the account.
-- An event that ends a debit takes nothing more where the debit has taken its coin; see takeDebit.lua of control.
-- KEYS: account, debits. ARGV: seq, coinDelta in nanos, grantId ('' for none), grantExpiresAtMs, grantUnits, debitId ('' for none).
-- Returns: 1 applied, 0 applied before, -1 an earlier event is missing (the account has to be loaded from the book).
local seq = tonumber(ARGV[1])
local account = redis.call('HMGET', KEYS[1], 'seq', 'coin', 'g')
local last = tonumber(account[1] or 0)
if seq <= last then return 0 end
if seq ~= last + 1 then return -1 end

local delta = tonumber(ARGV[2])
if ARGV[6] ~= '' and redis.call('HDEL', KEYS[2], ARGV[6]) == 1 then delta = 0 end
local coin = tonumber(account[2] or 0) + delta
local grants = account[3] or ''
if ARGV[3] ~= '' then
  local expires, placed, parts = tonumber(ARGV[4]), false, {}
  local new = ARGV[3] .. ',' .. ARGV[4] .. ',' .. ARGV[5]
  for id, exp, free in string.gmatch(grants, '([^,;]+),(%d+),(%-?%d+)') do
    if not placed and tonumber(exp) > expires then
      parts[#parts + 1] = new
      placed = true
    end
    parts[#parts + 1] = id .. ',' .. exp .. ',' .. free
  end
  if not placed then parts[#parts + 1] = new end
  grants = table.concat(parts, ';')
end
redis.call('HSET', KEYS[1], 'seq', ARGV[1], 'coin', string.format('%.0f', coin), 'g', grants)
return 1
