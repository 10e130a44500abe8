import { DAY_MS } from '../../contract/api/time.ts'

const HOUR_MS = 3_600_000

/** The spending windows of one moment, as hold.lua counts them: numbers since 1970, UTC. */
export interface Windows {
  readonly hour: number
  readonly day: number
  readonly month: number
  /** The first hours of the day and of the month, as numbers of hours since 1970. */
  readonly dayFirstHour: number
  readonly monthFirstHour: number
}

/** @param nowMs milliseconds since 1970 on Redis's clock */
export function windowsAt(nowMs: number): Windows {
  const date = new Date(nowMs)
  const day = Math.floor(nowMs / DAY_MS)
  return {
    hour: Math.floor(nowMs / HOUR_MS),
    day,
    month: (date.getUTCFullYear() - 1970) * 12 + date.getUTCMonth(),
    dayFirstHour: day * 24,
    monthFirstHour: Date.UTC(date.getUTCFullYear(), date.getUTCMonth(), 1) / HOUR_MS,
  }
}
