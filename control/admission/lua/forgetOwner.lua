-- Removes a proxy process that stopped heart-beating, unless it beat again. KEYS: owners. ARGV: owner, last score seen.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == ARGV[2] then return redis.call('ZREM', KEYS[1], ARGV[1]) end
return 0
