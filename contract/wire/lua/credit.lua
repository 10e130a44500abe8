-- Applies one event of the book to an account, once, in the order of its sequence numbers. Event 1 creates the account. An
-- event that ends a debit takes nothing when the debit has already taken its coin or tokens; see takeDebit.lua of control. A
-- grant is added once; units of a holding are added to those that are there, and may be negative.
-- KEYS: account, debits. ARGV: seq, coinDelta in nanos, grantId ('' for none), grantExpiresAtMs, grantUnits, debitId ('' for
--   none).
-- Returns: 1 applied, 0 applied before, -1 an earlier event is missing (the account has to be loaded from the book).
local seq = tonumber(ARGV[1])
local account = redis.call('HMGET', KEYS[1], 'seq', 'coin', 'g')
local last = tonumber(account[1] or 0)
if seq <= last then return 0 end
if seq ~= last + 1 then return -1 end

local delta, potUnits = tonumber(ARGV[2]), tonumber(ARGV[5])
if ARGV[6] ~= '' and redis.call('HDEL', KEYS[2], ARGV[6]) == 1 then delta, potUnits = 0, 0 end
local coin = tonumber(account[2] or 0) + delta
local grants = account[3] or ''

-- Puts a pot where its expiry belongs; one that is there already gets the units.
local function withPot(text, newId, expires, units)
  local parts, placed = {}, false
  local isListed = string.find(';' .. text, ';' .. newId .. ',', 1, true) ~= nil
  for id, exp, free in string.gmatch(text, '([^,;]+),(%d+),(%-?%d+)') do
    if not isListed and not placed and tonumber(exp) > expires then
      parts[#parts + 1] = string.format('%s,%.0f,%.0f', newId, expires, units)
      placed = true
    end
    if id == newId then free = string.format('%.0f', tonumber(free) + units) end
    parts[#parts + 1] = id .. ',' .. exp .. ',' .. free
  end
  if not isListed and not placed then parts[#parts + 1] = string.format('%s,%.0f,%.0f', newId, expires, units) end
  return table.concat(parts, ';')
end

if ARGV[3] ~= '' and (potUnits ~= 0 or ARGV[6] == '') then grants = withPot(grants, ARGV[3], tonumber(ARGV[4]), potUnits) end
redis.call('HSET', KEYS[1], 'seq', ARGV[1], 'coin', string.format('%.0f', coin), 'g', grants)
return 1
