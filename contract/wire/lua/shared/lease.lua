-- Leases of an owner in a shard, one hash: `op` number of its last call, `seq` last ending that it delivered, `load` number
-- of the loading that it was last reported to, `closed` once its leases were taken back, and by lease (`L:keyId:hour`) the
-- amount that is out: `accountId|keys|v2:hour|coin|grantId=units,...`; of coin the units that are counted in the
-- windows, and the nanos where they are another number (see coin.lua).
local STALE, CLOSED, UNKNOWN_EPOCH, OWNER_CLOSED = 20, 9, 21, 22

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

local function writeLease(key, field, lease)
  local parts = formatParts(lease.parts)
  if lease.nanos == 0 and parts == '' then
    redis.call('HDEL', key, field)
  else
    redis.call('HSET', key, field, format('%s|%s|v2:%s|%s|%s',
      lease.account, lease.keys, lease.hour, coinText(lease.coinUnits, lease.nanos), parts))
  end
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

-- Whether a call may run: admission is open, in the epoch that the owner knows, and no later call of the owner was seen. A
-- call that was given up with its connection can still arrive; its number is then lower than that of the call after it.
local function refusalOf(epochKey, leasesKey, epoch, op)
  local inForce = redis.call('GET', epochKey)
  if not inForce then return CLOSED end
  if epoch ~= inForce then return UNKNOWN_EPOCH end
  local owner = redis.call('HMGET', leasesKey, 'op', 'closed')
  if owner[2] then return OWNER_CLOSED end
  if tonumber(op) <= tonumber(owner[1] or 0) then return STALE end
  return nil
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
