import { DAY_MS, formatDay, HOUR_MS } from '../../../contract/api/time.ts'
import { intArray } from '../../runtime/db/arrays.ts'
import { monthStartMs } from '../partitions/idTime.ts'

/** Days since 1970, UTC; both are part of it. */
export interface Days {
  readonly fromDay: number
  readonly toDay: number
}

/** The first day of the month of a day, in days since 1970, UTC. */
export function firstOfMonth(day: number): number {
  return monthStartMs(day * DAY_MS) / DAY_MS
}

/** The months that days are of, the latest first; of the first and the last of them the days that are meant. */
export function monthsOf({ fromDay, toDay }: Days): Days[] {
  const months: Days[] = []
  for (let last = toDay; last >= fromDay; ) {
    const first = firstOfMonth(last)
    months.push({ fromDay: Math.max(first, fromDay), toDay: last })
    last = first - 1
  }
  return months
}

/** The first day of the month after that of a day. */
export function firstOfNextMonth(day: number): number {
  return monthStartMs(day * DAY_MS, 1) / DAY_MS
}

/** The number of the month of a day: months since the year 0. */
export function monthOf(day: number): number {
  const date = new Date(day * DAY_MS)
  return date.getUTCFullYear() * 12 + date.getUTCMonth()
}

/** SQL of the number of the month of a column of days, each of which is among these; calendar functions would take longer. */
export function monthSql(column: string, days: Days): string {
  const firsts = monthsOf(days).map(({ fromDay }) => fromDay)
  return `(${monthOf(days.fromDay) - 1} + width_bucket(${column}, '${intArray(firsts.reverse())}'::integer[]))`
}

/** A period as texts show it, by its number: hours and days since 1970, UTC, months since the year 0. */
export function periodText(period: 'hour' | 'day' | 'month', number: number): string {
  if (period === 'day') return formatDay(number)
  if (period === 'hour') return `${new Date(number * HOUR_MS).toISOString().slice(0, 13)}:00:00Z`
  return `${String(Math.floor(number / 12)).padStart(4, '0')}-${String((number % 12) + 1).padStart(2, '0')}`
}
