/** The unit of a limit by the end of its name. */
const UNITS: readonly (readonly [ending: RegExp, unit: string])[] = [
  [/PerMinute$/, 'per minute'],
  [/UnitsPerDay$/, 'units of 1e-9 USD per day'],
  [/PerDay$/, 'per day'],
  [/Ms$/, 'milliseconds'],
  [/Seconds(?:Max)?$/, 'seconds'],
  [/Minutes$/, 'minutes'],
  [/Days(?:Max|Shown)?$/, 'days'],
  [/Bytes(?:[A-Z]\w*)?$/, 'bytes'],
  [/(?:Characters(?:Max)?|Chars)$/, 'characters'],
  [/Side(?:Min|Max)$/, 'pixels'],
  [/Depth(?:Max)?$/, 'levels'],
  [/Units(?:Min|Max)?$/, 'units of 1e-9 USD'],
  [/Micros(?:Min|Max)?$/, 'micro-tokens'],
  [/Tokens(?:Max)?$/, 'tokens'],
  [/Gwei$/, 'gwei'],
  [/Gas(?:Min|Max)$|^gasPerTransactionMax$/, 'gas'],
  [/Blocks(?:Max)?$/, 'blocks'],
  [/Bps$/, 'basis points'],
  [/Ppm(?:Max)?$/, 'parts per million'],
  [/Percent$/, 'percent'],
]

/** The unit that a limit is in; `count` for a number of things. */
export function unitOf(name: string): string {
  return UNITS.find(([ending]) => ending.test(name))?.[1] ?? 'count'
}
