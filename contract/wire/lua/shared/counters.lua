-- Spending counters of a key: hw, hs, dw, ds, mw, ms, bs, and tat of its rate.
local function readCounters(key)
  return redis.call('HMGET', key, 'hw', 'hs', 'dw', 'ds', 'mw', 'ms', 'bs', 'tat')
end

-- What counters say was spent in the hour, day and month of now, and ever.
local function spentOf(c)
  return c[1] == hourText and tonumber(c[2]) or 0, c[3] == dayText and tonumber(c[4]) or 0,
    c[5] == monthText and tonumber(c[6]) or 0, tonumber(c[7] or 0)
end

-- Counts units in the windows of now; negative ones are given back.
local function countNow(key, units)
  local hour, day, month, life = spentOf(readCounters(key))
  redis.call('HSET', key, 'hw', hourText, 'dw', dayText, 'mw', monthText, 'hs', format('%d', hour + units),
    'ds', format('%d', day + units), 'ms', format('%d', month + units), 'bs', format('%d', life + units))
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

-- The counters of a platform key stand under the same hash tag as those of its sub-keys.
local function siblingKey(key, id)
  return string.match(key, '^.*:') .. id
end
