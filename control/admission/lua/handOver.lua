-- Gives a hold another owner, unless it is too late for that.
-- KEYS: epoch, holds of the owner, holds of the new owner. ARGV: requestId, latest time in ms.
-- Returns: 1 the new owner has it, 0 there is no such hold, -1 too late, -2 closed.
if redis.call('HEXISTS', KEYS[3], ARGV[1]) == 1 then return 1 end
-- While the state is loaded, the holds are read owner by owner: one that moves then would be counted for neither.
if redis.call('EXISTS', KEYS[1]) == 0 then return -2 end
local hold = redis.call('HGET', KEYS[2], ARGV[1])
if not hold then return 0 end
local time = redis.call('TIME')
if tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000) > tonumber(ARGV[2]) then return -1 end
redis.call('HSET', KEYS[3], ARGV[1], hold)
redis.call('HDEL', KEYS[2], ARGV[1])
return 1
