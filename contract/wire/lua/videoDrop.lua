-- Deletes a video job that was refused before its id was returned. KEYS: job, slots of the key. ARGV: request id.
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])
