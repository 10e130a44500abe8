-- Notes that a proxy process lives, on Redis's clock. KEYS: owners. ARGV: owner. Returns the time in milliseconds.
local time = redis.call('TIME')
local nowMs = tonumber(time[1]) * 1000 + math.floor(tonumber(time[2]) / 1000)
redis.call('ZADD', KEYS[1], string.format('%.0f', nowMs), ARGV[1])
return nowMs
