-- Leases of an owner in a shard, one hash: `op` number of its last call, `seq` last ending that it delivered, `load` number
-- of the loading that it was last reported to, `closed` once its leases were taken back, and by lease (`L:keyId:hour`) the
-- amount that is out: `accountId|keys|v2:hour|coin|grantId=units,...`; of coin the units that are counted in the
-- windows, and the nanos where they are another number (see coin.lua). `C:keyId:hour` is the part of that amount which was
-- charged by endings that are delivered: `coin|grantId=units,...`. It is taken off with the next delivery that settles the lease.
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
-- The charges of those leases that were delivered and not taken off, as texts by the field of the lease.
local charges = {}

local function chargesField(field)
  return 'C' .. string.sub(field, 2)
end

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
local function writeOwner(key, writes)
  local gone = {}
  for field, lease in pairs(leases) do
    local isUsed = type(lease) == 'table'
    local text = isUsed and leaseText(lease)
    if text then
      local n = #writes
      writes[n + 1], writes[n + 2] = field, text
      writes = runWith('HSET', key, writes, WRITES_MAX)
    elseif isUsed then
      gone[#gone + 1] = field
    end
    if isUsed and charges[field] then gone[#gone + 1] = chargesField(field) end
    gone = runWith('HDEL', key, gone, WRITES_MAX)
  end
  runWith('HSET', key, writes, 1)
  runWith('HDEL', key, gone, 1)
end

-- Whether a call may run: admission is open, in the epoch that the owner knows, and no later call of the owner was seen. A
-- call that was given up with its connection can still arrive; its number is then lower than that of the call after it.
-- Reads the leases of these fields, and their charges where they are settled. Returns nil or why it may not run, and the last
-- ending that was delivered.
local function refusalOf(epochKey, leasesKey, epoch, op, fields, settles)
  local inForce, count, names = redis.call('GET', epochKey), #fields, { 'op', 'closed', 'seq', unpack(fields) }
  if settles then
    for i, field in ipairs(fields) do names[3 + count + i] = chargesField(field) end
  end
  local owner = redis.call('HMGET', leasesKey, unpack(names))
  local seq = tonumber(owner[3] or 0)
  if not inForce then return CLOSED, seq end
  if epoch ~= inForce then return UNKNOWN_EPOCH, seq end
  if owner[2] then return OWNER_CLOSED, seq end
  if tonumber(op) <= tonumber(owner[1] or 0) then return STALE, seq end
  for i, field in ipairs(fields) do
    leases[field], charges[field] = owner[3 + i], owner[3 + count + i]
  end
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

-- The part of a pot that stays leased out, and the part that the account gets back: negative where a lease was given up
-- before its requests were charged. The free balance may fall below zero then; no request is admitted on it until the book
-- has more.
local function takeOff(out, charged, returned)
  local left = math.max(0, out - charged - returned)
  return left, out - left - charged
end

-- As takeOff, for coin; also the units of it that are no longer counted. When no coin is out, none of its units is counted.
local function takeOffCoin(lease, charged, returned)
  local nanos, back = takeOff(lease.nanos, charged.nanos, returned and returned.nanos or lease.nanos)
  local units = nanos == 0 and 0 or math.max(0, lease.coinUnits - charged.units - returned.units)
  local uncounted, gone = lease.coinUnits - units - charged.units, lease.nanos - nanos
  lease.coinUnits, lease.nanos = units, nanos
  return back, uncounted, gone
end

-- Units and nanos of coin and parts of grants, of their texts.
local function parsePots(coin, parts)
  local units, nanos = parseCoin(coin)
  return { units = units, nanos = nanos, parts = parseParts(parts) }
end

-- Adds the charges of a lease that were delivered earlier.
local function addCharges(charged, text)
  local earlier = parsePots(string.match(text, '^([%d:]+)|(.*)$'))
  charged.units, charged.nanos = charged.units + earlier.units, charged.nanos + earlier.nanos
  for id, units in pairs(earlier.parts) do charged.parts[id] = (charged.parts[id] or 0) + units end
end

-- Takes charges and returned amounts off a lease, and off its account and its counters. `returned`: nil for everything that is
-- not charged.
local function settleLease(lease, accountKey, countersKey, charged, returned)
  local back, uncounted, gone = takeOffCoin(lease, charged, returned)
  local backParts = {}
  for id in pairs(charged.parts) do lease.parts[id] = lease.parts[id] or 0 end
  for id, out in pairs(lease.parts) do
    local left, backUnits = takeOff(out, charged.parts[id] or 0, returned and (returned.parts[id] or 0) or out)
    lease.parts[id], gone = left, gone + out - left
    if backUnits ~= 0 then backParts[id] = backUnits end
  end
  changeAccount(accountKey, 1, back, backParts, -gone)
  local platformKeyId = platformOf(lease.keys)
  uncounted = uncounted + sumOf(backParts)
  uncount(countersKey, lease, uncounted)
  if platformKeyId then uncount(siblingKey(countersKey, platformKeyId), lease, uncounted) end
end

-- Gives an owner's leases of a shard back to their accounts. Returns the units.
local function giveBackLeases(key)
  local tag, fields, texts, total = string.match(key, '{.-}'), redis.call('HGETALL', key), {}, 0
  for i = 1, #fields, 2 do texts[fields[i]] = fields[i + 1] end
  for field, text in pairs(texts) do
    if string.sub(field, 1, 2) == 'L:' then
      local lease, charged = parseLease(text), { units = 0, nanos = 0, parts = {} }
      local earlier = texts[chargesField(field)]
      if earlier then addCharges(charged, earlier) end
      total = total + lease.coinUnits + sumOf(lease.parts) - charged.units - sumOf(charged.parts)
      local countersKey = 'key:' .. tag .. ':' .. string.match(lease.keys, '^[^/]*')
      settleLease(lease, 'acct:' .. tag .. ':' .. lease.account, countersKey, charged)
      redis.call('HDEL', key, field, chargesField(field))
    end
  end
  return total
end
