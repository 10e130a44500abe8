/** Sums of one period and one group, as the usage endpoint answers them. */
export interface UsageRow {
  readonly period: string
  readonly group: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  /** Integer of 1e-9 USD. */
  readonly units: bigint
}

export type Measure = 'cost' | 'requests' | 'tokens'

/** The sums of a group over all periods. */
export interface GroupSums {
  readonly group: string
  readonly requests: number
  readonly inputTokens: number
  readonly outputTokens: number
  readonly units: bigint
}

export interface Series {
  readonly name: string
  /** One per period, in the order of the periods: units of cost, requests or tokens. */
  readonly values: readonly number[]
}

/** The name of what is beyond the groups that are drawn. */
export const OTHERS = 'others'

/** The part of sums that a measure counts; units of cost are exact as a number below 9,007,199 USD, and are only drawn. */
function measured({ units, requests, inputTokens, outputTokens }: Omit<GroupSums, 'group'>, measure: Measure): number {
  if (measure === 'cost') return Number(units)
  return measure === 'requests' ? requests : inputTokens + outputTokens
}

/** The sums of every group, the most expensive first. */
export function groupSums(rows: readonly UsageRow[]): GroupSums[] {
  const sums = new Map<string, GroupSums>()
  for (const { group, requests, inputTokens, outputTokens, units } of rows) {
    const before = sums.get(group)
    sums.set(group, {
      group,
      requests: requests + (before?.requests ?? 0),
      inputTokens: inputTokens + (before?.inputTokens ?? 0),
      outputTokens: outputTokens + (before?.outputTokens ?? 0),
      units: units + (before?.units ?? 0n),
    })
  }
  return [...sums.values()].sort((a, b) => compare(b.units, a.units) || b.requests - a.requests)
}

const compare = (a: bigint, b: bigint): number => (a === b ? 0 : a < b ? -1 : 1)

/**
 * One series for each of the first groups, and one for all others together.
 * @param periods all that are drawn; those without usage count 0
 * @param most how many groups have a series of their own
 */
export function seriesOf(
  rows: readonly UsageRow[],
  periods: readonly string[],
  measure: Measure,
  most: number,
): Series[] {
  const groups = groupSums(rows).map(({ group }) => group)
  const named = groups.slice(0, most)
  const places = new Map(periods.map((period, place) => [period, place]))
  const values = new Map([...named, OTHERS].map((name) => [name, new Array<number>(periods.length).fill(0)]))
  for (const row of rows) {
    const list = values.get(named.includes(row.group) ? row.group : OTHERS)
    const place = places.get(row.period)
    if (list !== undefined && place !== undefined) list[place] = (list[place] ?? 0) + measured(row, measure)
  }
  const shown = groups.length > most ? [...named, OTHERS] : named
  return shown.map((name) => ({ name, values: values.get(name) ?? [] }))
}
