-- Spending counters of a key: hw, hs, dw, ds, mw, ms, bs, and tat of its rate.
local function readCounters(key)
  return redis.call('HMGET', key, 'hw', 'hs', 'dw', 'ds', 'mw', 'ms', 'bs', 'tat')
end

-- The units spent in the hour, day and month of now, and over the whole life, by the counters.
local function spentOf(c)
  return c[1] == hourText and tonumber(c[2]) or 0, c[3] == dayText and tonumber(c[4]) or 0,
    c[5] == monthText and tonumber(c[6]) or 0, tonumber(c[7] or 0)
end

-- Counts units in those of the windows that have not passed.
local function countIn(key, hour, day, month, units)
  local hourSpent, daySpent, monthSpent, life = spentOf(readCounters(key))
  if hour == hourText then hourSpent = hourSpent + units end
  if day == dayText then daySpent = daySpent + units end
  if month == monthText then monthSpent = monthSpent + units end
  redis.call('HSET', key, 'hw', hourText, 'dw', dayText, 'mw', monthText, 'hs', format('%d', hourSpent),
    'ds', format('%d', daySpent), 'ms', format('%d', monthSpent), 'bs', format('%d', life + units))
end

local function countNow(key, units)
  countIn(key, hourText, dayText, monthText, units)
end

-- Takes units out of the windows that they were counted in; windows that have passed are left alone.
local function refundWindows(key, hour, day, month, units)
  local c = readCounters(key)
  local writes = { 'bs', format('%d', tonumber(c[7] or 0) - units) }
  if c[1] == hour then writes[3], writes[4] = 'hs', format('%d', c[2] - units) end
  if c[3] == day then writes[#writes + 1] = 'ds'; writes[#writes + 1] = format('%d', c[4] - units) end
  if c[5] == month then writes[#writes + 1] = 'ms'; writes[#writes + 1] = format('%d', c[6] - units) end
  redis.call('HSET', key, unpack(writes))
end

-- The counters of a platform key have the same hash tag as those of its sub-keys.
local function siblingKey(key, id)
  return string.match(key, '^.*:') .. id
end
