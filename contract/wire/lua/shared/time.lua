-- The moment of this call on Redis's clock, and its hour, a number since 1970, UTC.
local format = string.format
local time = redis.call('TIME')
local nowSec = tonumber(time[1])
local nowMicros = nowSec * 1000000 + tonumber(time[2])
local nowMs = math.floor(nowMicros / 1000)
local hourNow = math.floor(nowSec / 3600)

-- Months since 1970 by the days-to-civil algorithm, years starting in March.
local function monthOf(days)
  local z = days + 719468
  local era = math.floor(z / 146097)
  local doe = z - era * 146097
  local yoe = math.floor((doe - math.floor(doe / 1460) + math.floor(doe / 36524) - math.floor(doe / 146096)) / 365)
  local doy = doe - (365 * yoe + math.floor(yoe / 4) - math.floor(yoe / 100))
  local mp = math.floor((5 * doy + 2) / 153)
  local month = mp < 10 and mp + 2 or mp - 10
  local year = yoe + era * 400
  if month < 2 then year = year + 1 end
  return (year - 1970) * 12 + month
end

-- Numbers are sent to Redis as text: its own conversion of a Lua number is a slow general format. %d has 64 bits.
local hourText = format('%d', hourNow)
local countedNow = 'v2:' .. hourText
