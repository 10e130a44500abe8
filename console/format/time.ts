import { UNKNOWN } from './unknown.ts'

const DAY_MS = 86_400_000
const MS_PER_SECOND = 1_000
const MINUTE_MS = 60_000

/** A day such as 2027-01-31 (UTC). */
export function dayText(timeMs: number): string {
  return new Date(timeMs).toISOString().slice(0, 10)
}

/** The first and the last day of a span that ends today. */
export function lastDays(days: number, nowMs: number): { readonly from: string; readonly to: string } {
  return { from: dayText(nowMs - (days - 1) * DAY_MS), to: dayText(nowMs) }
}

/** Every day from one to another, both included. */
export function daysBetween(from: string, to: string): string[] {
  const days: string[] = []
  const last = Date.parse(to)
  for (let day = Date.parse(from); day <= last; day += DAY_MS) days.push(dayText(day))
  return days
}

/** Every month, such as 2027-01, from that of one day to that of another. */
export function monthsBetween(from: string, to: string): string[] {
  const months: string[] = []
  for (let month = from.slice(0, 7); month <= to.slice(0, 7); month = monthAfter(month)) months.push(month)
  return months
}

function monthAfter(month: string): string {
  const [year = 0, number = 0] = month.split('-').map(Number)
  return new Date(Date.UTC(year, number, 1)).toISOString().slice(0, 7)
}

/** A time in ISO 8601 as 2027-01-31 12:00:05 (UTC). */
export function shownTime(iso: string): string {
  const time = new Date(iso)
  return Number.isNaN(time.getTime()) ? iso : time.toISOString().slice(0, 19).replace('T', ' ')
}

/** A duration such as 830 ms, 1.42 s or 3 min 5 s. @param ms null where it is not known */
export function shownDuration(ms: number | null): string {
  if (ms === null) return UNKNOWN
  if (ms < MS_PER_SECOND) return `${Math.round(ms)} ms`
  if (ms < MINUTE_MS) return `${(ms / MS_PER_SECOND).toFixed(2)} s`
  const seconds = Math.round(ms / MS_PER_SECOND)
  return `${Math.floor(seconds / 60)} min ${seconds % 60} s`
}
