-- Opens a video job, unless its key has as many unbilled ones as it may have. A job counts while its hold is open, and
-- for a grace time before, in which the hold is being taken; slots that count no more are removed.
-- KEYS: job, slots of the key. ARGV: request id, owner, most jobs, grace in ms, ms to keep the job, prefix of the holds
--   hashes (of the same slot), state, VideoJob.
-- Returns: code (0 opened, 1 full), now in ms.
local OK, FULL = 0, 1
local time = redis.call('TIME')
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local slots = redis.call('HGETALL', KEYS[2])
local open = 0
for i = 1, #slots, 2 do
  local owner, openedMs = string.match(slots[i + 1], '^(.*)|(%d+)$')
  local fresh = owner and nowMs - tonumber(openedMs) < tonumber(ARGV[4])
  if fresh or (owner and redis.call('HEXISTS', ARGV[6] .. ':' .. owner, slots[i]) == 1) then
    open = open + 1
  else
    redis.call('HDEL', KEYS[2], slots[i])
  end
end
if open >= tonumber(ARGV[3]) then return { FULL, nowMs } end
redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. '|' .. string.format('%.0f', nowMs))
redis.call('PEXPIRE', KEYS[2], ARGV[5])
redis.call('HSET', KEYS[1], 'o', ARGV[2], 's', ARGV[7], 'j', ARGV[8])
redis.call('PEXPIRE', KEYS[1], ARGV[5])
return { OK, nowMs }
