import { MAX_UNITS } from '../../contract/money/units.ts'
import { bySpan, LIFE_FIELD, SPANS, type Span, WINDOW, WINDOWS } from '../../contract/money/windows.ts'
import { COUNTERS } from '../../contract/wire/caps.ts'
import { type Windows, windowsOf } from './windows.ts'

/** Units spent or held by one key, in its current windows and in its life. */
export type KeySpending = Record<Span, number>

export const noSpending = (): KeySpending => bySpan(() => 0)

/** Adds the spending of one key to that of another. */
export function addSpending(to: KeySpending, from: Readonly<KeySpending>): void {
  for (const span of SPANS) to[span] += from[span]
}

/** Adds units that count in the windows of an hour; those that have passed are left alone. */
export function countIn(to: KeySpending, hour: number, units: number, windows: Windows): void {
  for (const window of windowsOf(hour, windows)) to[window] += units
  to.life += units
}

/**
 * SQL of the units that a key has spent in each span, at most what a cap can be: a key that is used for years may spend more
 * than that.
 * @param hour SQL of the hour of usage
 */
export function spendingColumns(windows: Windows, hour = 'hour'): string {
  const sum = (hours: string) => `least(coalesce(sum(units) FILTER (WHERE ${hours}), 0), ${MAX_UNITS})`
  const ofWindows = WINDOWS.map((window) => {
    const { firstHour, endHour } = windows[window]
    return `${sum(`${hour} >= ${firstHour} AND ${hour} < ${endHour}`)} AS ${window}`
  })
  return [...ofWindows, `${sum('true')} AS life`].join(', ')
}

/** The counters of a key in Redis, names and values by turns. */
export function countersOf(spending: Readonly<KeySpending>, windows: Windows): (string | number)[] {
  const ofWindows = WINDOWS.flatMap((window) => {
    const { numberField, spentField } = WINDOW[window]
    return [numberField, windows[window].number, spentField, spending[window]]
  })
  return [...ofWindows, LIFE_FIELD, spending.life]
}

/**
 * The spending by the counters of a key in Redis. A counter of an earlier window is zero spending in the current one.
 * @param counters the values of COUNTERS, in that order
 */
export function spendingIn(counters: readonly (string | null)[], windows: Windows): KeySpending {
  const read = (field: string) => counters[COUNTERS.indexOf(field)] ?? null
  return bySpan((span) => {
    if (span === 'life') return Number(read(LIFE_FIELD) ?? 0)
    const { numberField, spentField } = WINDOW[span]
    return Number(read(numberField) ?? -1) === windows[span].number ? Number(read(spentField)) : 0
  })
}
