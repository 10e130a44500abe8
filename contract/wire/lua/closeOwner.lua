-- Takes back the leases of an owner that is gone, in one shard. Its endings may still be delivered later: they are charged
-- to the free balance then.
-- KEYS: epoch, leases of the owner. ARGV: seconds that the end of the owner is remembered.
-- Returns: code (0 done, 9 closed), units that were taken back.
if redis.call('EXISTS', KEYS[1]) == 0 then return { CLOSED, 0 } end
if redis.call('EXISTS', KEYS[2]) == 0 then return { 0, 0 } end
local units = giveBackLeases(KEYS[2])
redis.call('HSET', KEYS[2], 'closed', '1')
redis.call('EXPIRE', KEYS[2], ARGV[1])
return { 0, units }
