-- The first results of requests with single holds, in a hash for each minute: the charged units, or `v` for a void.
local minuteNow = math.floor(nowSec / 60)

-- The first result of a request within the minutes that are remembered, as text; nil for none.
local function firstResult(prefix, requestId, minutes)
  for back = 0, minutes do
    local done = redis.call('HGET', format('%s:%d', prefix, minuteNow - back), requestId)
    if done then return done end
  end
  return nil
end

local doneKeys = {}
local function remember(prefix, requestId, charged, minutes)
  local doneKey = doneKeys[prefix]
  local isFirst = doneKey == nil
  if isFirst then
    doneKey = format('%s:%d', prefix, minuteNow)
    doneKeys[prefix] = doneKey
  end
  redis.call('HSET', doneKey, requestId, charged < 0 and 'v' or format('%d', charged))
  -- Only the first entry of this call can be the first one of all.
  if isFirst and redis.call('HLEN', doneKey) == 1 then redis.call('EXPIRE', doneKey, (minutes + 2) * 60) end
end
