-- Reads the kept records of API keys, and claims those that are not kept: whoever reads them from the book may keep them
-- under the claim, unless they were dropped meanwhile. A record of another epoch may lack a change, as Redis may have gone
-- back in time; it is not read.
-- KEYS: for each API key the epoch of its shard, its record. ARGV: claim, its lifetime in ms.
-- Returns: for each API key the sealed record, or false.
local answer = {}
for i = 1, #KEYS, 2 do
  local record = false
  local epoch = redis.call('GET', KEYS[i])
  if epoch then
    local kept = redis.call('GET', KEYS[i + 1]) or ''
    local behindEpoch = #epoch + 3
    if string.sub(kept, 1, behindEpoch - 1) == 'R' .. epoch .. '\n' then
      record = string.sub(kept, behindEpoch)
    elseif string.sub(kept, 1, behindEpoch - 1) ~= 'C' .. epoch .. '\n' then
      redis.call('SET', KEYS[i + 1], 'C' .. epoch .. '\n' .. ARGV[1], 'PX', ARGV[2])
    end
  end
  answer[#answer + 1] = record
end
return answer
