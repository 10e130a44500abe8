-- Forgets a video job that was refused before anybody knew of it. KEYS: job, slots of the key. ARGV: request id.
redis.call('HDEL', KEYS[2], ARGV[1])
return redis.call('DEL', KEYS[1])
