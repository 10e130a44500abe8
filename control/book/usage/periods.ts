import { formatDay, HOUR_MS } from '../../../contract/api/time.ts'

/** SQL of the number of a month, from that of a day. */
export function monthOfDay(day: string): string {
  const date = `timestamp '1970-01-01' + ${day} * interval '1 day'`
  return `(date_part('year', ${date}) * 12 + date_part('month', ${date}) - 1)::integer`
}

/** A period as texts show it, by its number: hours and days since 1970, UTC, months since the year 0. */
export function periodText(period: 'hour' | 'day' | 'month', number: number): string {
  if (period === 'day') return formatDay(number)
  if (period === 'hour') return `${new Date(number * HOUR_MS).toISOString().slice(0, 13)}:00:00Z`
  return `${String(Math.floor(number / 12)).padStart(4, '0')}-${String((number % 12) + 1).padStart(2, '0')}`
}
