-- Coin is counted in integers of 1e-9 coin (nanos), everything else in units of 1e-9 USD; see ../../../money/coin.ts, which
-- reckons in the same way. A price is units in one coin.
local USD_COIN, NANO_MAX = 1000000000, 9007199254740991

-- The value of coin, rounded down, and whether there is a remainder.
local function worth(nanos, price)
  local n0, p0 = nanos % 1000000000, price % 1000000000
  local whole = (nanos - n0) / 1000000000 * price
  local high = (n0 - n0 % 32768) / 32768 * p0
  local rest = high % 1000000000 * 32768 + n0 % 32768 * p0
  local parts = n0 * ((price - p0) / 1000000000) + math.floor(high / 1000000000) * 32768 + math.floor(rest / 1000000000)
  return math.min(whole + parts, NANO_MAX), rest % 1000000000 > 0
end

-- The value of coin, rounded down; negative for a negative balance.
local function valueOfCoin(nanos, price)
  if price == USD_COIN then return nanos end
  if nanos >= 0 then return (worth(nanos, price)) end
  local units, hasRest = worth(-nanos, price)
  return -units - (hasRest and 1 or 0)
end

-- The least coin that is worth an amount; more than any account has where no coin is.
local function coinFor(units, price)
  if price == USD_COIN then return units end
  local nanos = math.min(math.floor(units / price * 1000000000), NANO_MAX)
  while nanos > 0 and worth(nanos - 1, price) >= units do nanos = nanos - 1 end
  while worth(nanos, price) < units do
    if nanos >= NANO_MAX then return NANO_MAX + 1 end
    nanos = nanos + 1
  end
  return nanos
end

-- Units and the coin for them as text: `units`, or `units:nanos` where they are two numbers.
local function coinText(units, nanos)
  if units == nanos then return string.format('%d', units) end
  return string.format('%d:%d', units, nanos)
end

local function parseCoin(text)
  local both = tonumber(text)
  if both then return both, both end
  local units, nanos = string.match(text, '^(%d+):(%d+)$')
  return tonumber(units), tonumber(nanos)
end

-- The coin of a hold as text: its units, followed by `@` and the price of the hold when a coin is not one US dollar.
local function heldCoinText(units, price)
  if price == USD_COIN or units == 0 then return string.format('%d', units) end
  return string.format('%d@%d', units, price)
end

local function parseHeldCoin(text)
  local units = tonumber(text)
  if units then return units, USD_COIN end
  local held, price = string.match(text, '^(%d+)@(%d+)$')
  return tonumber(held), tonumber(price)
end
