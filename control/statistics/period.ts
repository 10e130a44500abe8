import { DAY_MS, parseDay } from '../../contract/api/time.ts'

/** Days since 1970, UTC; both are part of it. */
export interface Period {
  readonly fromDay: number
  readonly toDay: number
}

/** The days up to one. @param to such as 2027-01-31, as the schema has checked; today when absent */
export function periodOf(days: number, to: unknown, nowMs: number): Period {
  const toDay = (typeof to === 'string' ? parseDay(to) : undefined) ?? Math.floor(nowMs / DAY_MS)
  return { fromDay: toDay - days + 1, toDay }
}
