-- Reads a video job and whether its hold is open, at one moment.
-- KEYS: job. ARGV: request id, prefix of the holds hashes (of the same slot).
-- Returns nothing for an unknown job, else: now in ms, state, VideoJob, when it was made, 1 while the hold is open.
local found = redis.call('HMGET', KEYS[1], 's', 'j', 'm', 'o')
if not found[1] then return {} end
local time = redis.call('TIME')
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
local held = redis.call('HEXISTS', ARGV[2] .. ':' .. found[4], ARGV[1])
return { nowMs, tonumber(found[1]), found[2], tonumber(found[3] or 0), held }
