-- Runs writes to one shard for the loading of its admission state, as long as no later loading has begun and Redis has not
-- lost the shard since this one began.
-- KEYS: load guard of the shard, then the keys that are written. ARGV: load number, then one JSON array of writes,
--   each [command, place in KEYS, arguments...], then the least number that the guard must have.
-- Returns the time in milliseconds, or -1 when a later loading has begun, -2 when the shard was lost; nothing was written then.
local number, guard = tonumber(ARGV[1]), tonumber(redis.call('GET', KEYS[1]) or 0)
if guard > number then return -1 end
if guard < tonumber(ARGV[3]) then return -2 end
redis.call('SET', KEYS[1], ARGV[1])
for _, write in ipairs(cjson.decode(ARGV[2])) do
  redis.call(write[1], KEYS[write[2]], unpack(write, 3))
end
local time = redis.call('TIME')
return tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
