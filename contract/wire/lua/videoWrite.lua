-- Writes the state of a video job. States only move forward, and a job without its hold can no longer become "made": a
-- client that saw the job as lost must never be charged for it.
-- KEYS: job, slots of the key, holds of the owner. ARGV: request id, owner, state, VideoJob, ms to keep the job.
-- States: 1 queued, 2 in progress, 3 made (and being billed), 4 completed, 5 failed, 6 lost; the last three are final.
-- Returns: code (0 written, 2 the hold is gone, 3 the job is in a later state already), now in ms, when it was made.
local OK, NO_HOLD, OVERTAKEN = 0, 2, 3
local MADE, COMPLETED = 3, 4
local time = redis.call('TIME')
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local state = tonumber(ARGV[3])
local found = redis.call('HMGET', KEYS[1], 's', 'm')
local before, madeAtMs = tonumber(found[1] or 0), tonumber(found[2] or 0)
if before >= COMPLETED or (before == MADE and state < MADE) then return { OVERTAKEN, nowMs, madeAtMs } end
if state <= MADE and before ~= MADE and redis.call('HEXISTS', KEYS[3], ARGV[1]) == 0 then
  return { NO_HOLD, nowMs, madeAtMs }
end
redis.call('HSET', KEYS[1], 'o', ARGV[2], 's', ARGV[3], 'j', ARGV[4])
if (state == MADE or state == COMPLETED) and madeAtMs == 0 then
  madeAtMs = nowMs
  redis.call('HSET', KEYS[1], 'm', string.format('%.0f', nowMs))
end
redis.call('PEXPIRE', KEYS[1], ARGV[5])
if state >= COMPLETED then
  redis.call('HDEL', KEYS[2], ARGV[1])
else
  -- The hold is taken: from here on it alone decides whether the job counts among those of its key.
  redis.call('HSET', KEYS[2], ARGV[1], ARGV[2] .. '|0')
  redis.call('PEXPIRE', KEYS[2], ARGV[5])
end
return { OK, nowMs, madeAtMs }
