import { setTimeout as sleep } from 'node:timers/promises'

const HOUR_MS = 3_600_000
const DAY_MS = 24 * HOUR_MS
/** Longer than a test of one window takes, also on a machine that is busy or stands still for a moment. */
const ROOM_MS = 20_000
/** The same for a file of tests. */
const FILE_ROOM_MS = 180_000

/**
 * Waits while a window of caps is about to end: windows follow the clock, and those of days and months end with an hour.
 * @param roomMs the time that the test needs
 */
export function awayFromTheHour(roomMs = ROOM_MS): Promise<void> {
  return awayFromTheEnd(HOUR_MS, roomMs)
}

/** Waits while a day is about to end, for tests that read what was used today or in this month. */
export function awayFromMidnight(): Promise<void> {
  return awayFromTheEnd(DAY_MS, FILE_ROOM_MS)
}

async function awayFromTheEnd(spanMs: number, roomMs: number): Promise<void> {
  const leftMs = spanMs - (Date.now() % spanMs)
  if (leftMs < roomMs) await sleep(leftMs + 100)
}
