-- Leases of an owner in a shard, one hash: `op` number of its last call, `seq` last ending that it delivered, `load` number
-- of the loading that it was last reported to, `closed` once its leases were taken back, and by lease (`L:keyId:hour`) the
-- amount that is out: `accountId|keys|v2:hour|coin|grantId=units,...`; of coin the units that are counted in the
-- windows, and the nanos where they are another number (see coin.lua).
local STALE, CLOSED, UNKNOWN_EPOCH, OWNER_CLOSED = 20, 9, 21, 22
local WRITES_MAX = 1000

local function parseLease(text)
  local accountId, keys, hour, coin, parts = string.match(inCurrentForm(text), '^([^|]*)|([^|]*)|v2:(%d+)|([%d:]+)|([^|]*)$')
  local coinUnits, nanos = parseCoin(coin)
  return {
    account = accountId, keys = keys, hour = hour, coinUnits = coinUnits, nanos = nanos, parts = parseParts(parts),
  }
end

-- The windows of a lease are those of the hour in its name; the book counts holds of that hour the same way.
local function newLease(field, accountId, keys)
  local hour = string.match(field, ':(%d+)$')
  return { account = accountId, keys = keys, hour = hour, coinUnits = 0, nanos = 0, parts = {} }
end

-- A lease as text; nil where nothing of it is out.
local function leaseText(lease)
  local parts = formatParts(lease.parts)
  if lease.nanos == 0 and parts == '' then return nil end
  return format('%s|%s|v2:%s|%s|%s', lease.account, lease.keys, lease.hour, coinText(lease.coinUnits, lease.nanos), parts)
end

-- The request whose single hold became this lease, named `L:requestId:hour`; nil for the lease of a key.
local function requestOf(field)
  return string.match(field, '^L:(req_[^:]*):')
end

-- The single holds of the owner of leases.
local function holdsKeyOf(leasesKey)
  return 'holds' .. string.sub(leasesKey, 7)
end

local function platformOf(keys)
  return string.match(keys, '/(.+)$')
end

-- The leases that a call changes, by field: as text until they are used, as tables from then on. They are read with the other
-- fields of their owner, and written with them.
local leases = {}

-- The lease of a field; an empty one where Redis has none.
local function leaseAt(field, accountId, keys)
  local lease = leases[field]
  if not lease then lease = newLease(field, accountId, keys) end
  if type(lease) == 'string' then lease = parseLease(lease) end
  leases[field] = lease
  return lease
end

-- Runs a command with the values, if there are as many; unpack takes a few thousand. Returns those that are left.
local function runWith(command, key, values, least)
  if #values < least then return values end
  redis.call(command, key, unpack(values))
  return {}
end

-- Writes the leases of an owner that were used, and these fields and values.
local function writeOwner(key, ...)
  local writes, gone = { ... }, {}
  for field, lease in pairs(leases) do
    local isUsed = type(lease) == 'table'
    local text = isUsed and leaseText(lease)
    if text then
      local n = #writes
      writes[n + 1], writes[n + 2] = field, text
      writes = runWith('HSET', key, writes, WRITES_MAX)
    elseif isUsed then
      gone[#gone + 1] = field
      gone = runWith('HDEL', key, gone, WRITES_MAX)
    end
  end
  runWith('HSET', key, writes, 1)
  runWith('HDEL', key, gone, 1)
end

-- Whether a call may run: admission is open, in the epoch that the owner knows, and no later call of the owner was seen. A
-- call that was given up with its connection can still arrive; its number is then lower than that of the call after it.
-- Reads the leases of these fields. Returns nil or why it may not run, and the last ending that was delivered.
local function refusalOf(epochKey, leasesKey, epoch, op, fields)
  local inForce = redis.call('GET', epochKey)
  local owner = redis.call('HMGET', leasesKey, 'op', 'closed', 'seq', unpack(fields))
  local seq = tonumber(owner[3] or 0)
  if not inForce then return CLOSED, seq end
  if epoch ~= inForce then return UNKNOWN_EPOCH, seq end
  if owner[2] then return OWNER_CLOSED, seq end
  if tonumber(op) <= tonumber(owner[1] or 0) then return STALE, seq end
  for i, field in ipairs(fields) do leases[field] = owner[3 + i] end
  return nil, seq
end

-- Takes units off the counters of the windows that a lease was counted in; less than nothing counts more.
local function uncount(key, lease, units)
  if units > 0 then
    refundWindows(key, lease.hour, units)
  elseif units < 0 then
    countIn(key, lease.hour, -units)
  end
end

-- The amount that a lease has out of its account, nanos and units together: above zero as long as anything is out.
local function outOf(lease)
  return lease.nanos + sumOf(lease.parts)
end

-- Gives an owner's leases of a shard back to their accounts. Returns the units.
local function giveBackLeases(key)
  local tag, fields, total = string.match(key, '{.-}'), redis.call('HGETALL', key), 0
  for i = 1, #fields, 2 do
    if string.sub(fields[i], 1, 2) == 'L:' then
      local lease = parseLease(fields[i + 1])
      local units = lease.coinUnits + sumOf(lease.parts)
      local countersKey = 'key:' .. tag .. ':' .. string.match(lease.keys, '^[^/]*')
      local platformKeyId = platformOf(lease.keys)
      changeAccount('acct:' .. tag .. ':' .. lease.account, 1, lease.nanos, lease.parts, -outOf(lease))
      uncount(countersKey, lease, units)
      if platformKeyId then uncount(siblingKey(countersKey, platformKeyId), lease, units) end
      redis.call('HDEL', key, fields[i])
      total = total + units
    end
  end
  return total
end
