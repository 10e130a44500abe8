import { LIFE_FIELD, SPANS, WINDOW, WINDOWS } from '../money/windows.ts'
import { CAP, COUNTERS, PLATFORM_CAP } from './caps.ts'

/** A text for each window and its place in WINDOWS, from 1. */
function each(textOf: (place: number, row: (typeof WINDOW)['hour']) => string, joint = ', '): string {
  return WINDOWS.map((window, i) => textOf(i + 1, WINDOW[window])).join(joint)
}

const unitsAt = (place: number): number => WINDOWS.length + place

/**
 * Numbers that scripts have by name, and that their text gets in place of the names: the number of caps; the places in the
 * counters that were read of the units of the first span, of the life and of the rate; and the first codes of caps.
 */
const CONSTANTS: Readonly<Record<string, number>> = {
  CAPS: SPANS.length,
  SPENT_AT: unitsAt(1),
  LIFE_AT: unitsAt(SPANS.length),
  TAT_AT: unitsAt(SPANS.length) + 1,
  CAP,
  PLATFORM_CAP,
}

/** A script with the numbers in place of their names. */
export function withConstants(lua: string): string {
  return lua.replace(/\b[A-Z_]+\b/g, (name) => String(CONSTANTS[name] ?? name))
}

const READ = `redis.call('HMGET', key, ${COUNTERS.map((name) => `'${name}'`).join(', ')}, 'tat')`
const numberText = (_: number, { lua }: { readonly lua: string }): string => `format('%d', ${lua})`
const numbers = each((place, { numberField }) => `'${numberField}', now${place}`)
const sums = `${each((place, { spentField }) => `'${spentField}', format('%d', c[${unitsAt(place)}] + units)`)}, '${LIFE_FIELD}', format('%d', c[LIFE_AT] + units)`

/**
 * The windows in Lua, written from their table: the functions that read and write a key's counters. They name every window,
 * because a loop over a table costs a fifth of a hold; scripts loop over caps from 0 to CAPS - 1, in the order of SPANS.
 */
export const WINDOWS_LUA = `
-- The numbers of the windows of now, as text.
local hour = hourNow
local ${each((place) => `now${place}`)} = ${each(numberText)}

-- The spending counters of a key: the windows that were counted last, the units spent in the windows of now and in the life,
-- and tat of the rate.
local function readSpent(key)
  local c = ${READ}
  ${each((place) => `c[${unitsAt(place)}]`)}, c[LIFE_AT] = ${each((place) => `c[${place}] == now${place} and tonumber(c[${unitsAt(place)}]) or 0`)}, tonumber(c[LIFE_AT] or 0)
  return c
end

-- Adds units to the counters that readSpent has read; the numbers of the windows are written only when one of them differs from the one that was read.
local function addSpent(key, c, units, tat)
  if ${each((place) => `c[${place}] ~= now${place}`, ' or ')} then redis.call('HSET', key, ${numbers}) end
  if tat then
    redis.call('HSET', key, ${sums}, 'tat', format('%d', tat))
  else
    redis.call('HSET', key, ${sums})
  end
end
`

/** Changes of counters by units that were counted in another hour. */
export const COUNTED_LUA = `
-- The numbers of the windows of an hour, as text.
local function windowsOf(hour) return ${each(numberText)} end

-- Counts units in the windows of now.
local function countNow(key, units)
  addSpent(key, readSpent(key), units)
end

-- The counters of a platform key have the same hash tag as those of its sub-keys.
local function siblingKey(key, id)
  return string.match(key, '^.*:') .. id
end

-- Counts units in those windows of an hour that have not passed.
local function countIn(key, hour, units)
  local c, ${each((place) => `w${place}`)} = readSpent(key), windowsOf(tonumber(hour))
  ${each((place) => `if w${place} ~= now${place} then c[${unitsAt(place)}] = c[${unitsAt(place)}] - units end`, '\n  ')}
  addSpent(key, c, units)
end

-- Takes units out of the windows of the hour that they were counted in; windows that have passed are left alone.
local function refundWindows(key, hour, units)
  local c, ${each((place) => `w${place}`)} = ${READ}, ${each((place) => `now${place}`)}
  if hour ~= hourText then ${each((place) => `w${place}`)} = windowsOf(tonumber(hour)) end
  local writes, n = { '${LIFE_FIELD}', format('%d', tonumber(c[LIFE_AT] or 0) - units) }, 2
  ${each((place, { spentField }) => `if c[${place}] == w${place} then writes[n + 1], writes[n + 2], n = '${spentField}', format('%d', c[${unitsAt(place)}] - units), n + 2 end`, '\n  ')}
  redis.call('HSET', key, unpack(writes))
end
`
