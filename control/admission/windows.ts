import { HOUR_MS } from '../../contract/api/time.ts'
import { byWindow, WINDOW, WINDOWS, type Window } from '../../contract/money/windows.ts'

/** A spending window of a moment, as hold.lua counts it: numbers since 1970, UTC. */
export interface WindowAt {
  readonly number: number
  readonly firstHour: number
  /** The first hour after it. */
  readonly endHour: number
}

/** The spending windows of one moment. */
export type Windows = Readonly<Record<Window, WindowAt>>

/** @param nowMs milliseconds since 1970 on Redis's clock */
export function windowsAt(nowMs: number): Windows {
  const hour = Math.floor(nowMs / HOUR_MS)
  return byWindow((window) => {
    const { numberOf, firstHour } = WINDOW[window]
    const number = numberOf(hour)
    return { number, firstHour: firstHour(number), endHour: firstHour(number + 1) }
  })
}

/** The windows that an hour is in, of those of a moment. */
export function windowsOf(hour: number, at: Windows): Window[] {
  return WINDOWS.filter((window) => at[window].firstHour <= hour && hour < at[window].endHour)
}

/** When a window ends, in milliseconds since 1970. */
export const endMsOf = ({ endHour }: WindowAt): number => endHour * HOUR_MS
