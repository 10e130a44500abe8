-- The pots of an account: its coin in nanos, and its grants as `id,expiresAtMs,freeUnits` joined by `;`, soonest expiry
-- first. Parts taken from them are written `grantId=units,...`; the coin of a part is separate. Holdings of compute locks
-- are listed among the grants, with the id of their series; coin and grants pay for everything, a holding for requests that
-- its series serves.
local function isHolding(id)
  return string.sub(id, 1, 5) == 'lock_'
end

local function parseGrants(text)
  local grants = {}
  for id, expires, free in string.gmatch(text or '', '([^,;]+),(%d+),(%-?%d+)') do
    grants[#grants + 1] = { id, tonumber(expires), tonumber(free) }
  end
  return grants
end

local function formatGrants(grants)
  local parts = {}
  for i, grant in ipairs(grants) do parts[i] = format('%s,%d,%d', grant[1], grant[2], grant[3]) end
  return table.concat(parts, ';')
end

local function parseParts(text)
  local parts = {}
  if text == '' then return parts end
  for id, units in string.gmatch(text, '([^=,]+)=(%d+)') do parts[id] = tonumber(units) end
  return parts
end

local function formatParts(parts)
  if not next(parts) then return '' end
  local ids = {}
  for id, units in pairs(parts) do if units > 0 then ids[#ids + 1] = id end end
  table.sort(ids)
  for i, id in ipairs(ids) do ids[i] = format('%s=%d', id, parts[id]) end
  return table.concat(ids, ',')
end

local function sumOf(parts)
  local sum = 0
  for _, units in pairs(parts) do sum = sum + units end
  return sum
end

-- Changes the free balance of an account by nanos of coin and by parts of grants (`sign` 1 adds, -1 takes), and the amount
-- out in leases, nanos and units together.
local function changeAccount(key, sign, coin, parts, out)
  if coin == 0 and not next(parts) then
    if redis.call('HEXISTS', key, 'coin') == 0 then return false end
    redis.call('HINCRBY', key, 'out', format('%d', out))
    return true
  end
  local account = redis.call('HMGET', key, 'coin', 'g', 'out')
  if not account[1] then return false end
  local writes = { 'coin', format('%d', tonumber(account[1]) + sign * coin), 'out', format('%d', tonumber(account[3] or 0) + out) }
  if next(parts) then
    local grants = parseGrants(account[2])
    for _, grant in ipairs(grants) do
      if parts[grant[1]] then grant[3] = grant[3] + sign * parts[grant[1]] end
    end
    writes[5], writes[6] = 'g', formatGrants(grants)
  end
  redis.call('HSET', key, unpack(writes))
  return true
end
