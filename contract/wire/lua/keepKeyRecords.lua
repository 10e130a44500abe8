-- Keeps records of API keys that are still claimed, under the epoch of the claim.
-- KEYS: the records. ARGV: claim, lifetime of a record in ms, for each API key its sealed record, or '' to end the claim.
-- Returns: how many were kept.
local count = 0
for i = 1, #KEYS do
  local kept = redis.call('GET', KEYS[i]) or ''
  local epoch, claim = string.match(kept, '^C([^\n]*)\n(.*)$')
  if claim == ARGV[1] then
    local record = ARGV[2 + i]
    if record == '' then
      redis.call('DEL', KEYS[i])
    else
      redis.call('SET', KEYS[i], 'R' .. epoch .. '\n' .. record, 'PX', ARGV[2])
      count = count + 1
    end
  end
end
return count
