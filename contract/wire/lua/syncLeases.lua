-- Returns the amounts out in an owner's leases after a call whose answer was lost. That call has no effect if it arrives
-- later.
-- KEYS: epoch, leases of the owner. ARGV: epoch, number of the call.
-- Returns: code of the call (0 or one of shared/lease.lua), nowMs, number of the last ending that was delivered, the epoch;
--   then names and values of the leases in turn.
local refused, delivered = refusalOf(KEYS[1], KEYS[2], ARGV[1], ARGV[2], {})
local reply = { refused or 0, nowMs, delivered, redis.call('GET', KEYS[1]) or '' }
if refused then return reply end
redis.call('HSET', KEYS[2], 'op', ARGV[2])
for i, text in ipairs(redis.call('HGETALL', KEYS[2])) do reply[4 + i] = text end
return reply
