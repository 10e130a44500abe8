import { setTimeout as sleep } from 'node:timers/promises'

const HOUR_MS = 3_600_000
/** Longer than a test of one window takes, also on a machine that is busy or stands still for a moment. */
const ROOM_MS = 20_000

/** Waits while a window of caps is about to end: windows follow the clock, and those of days and months end with an hour. */
export async function awayFromTheHour(): Promise<void> {
  const leftMs = HOUR_MS - (Date.now() % HOUR_MS)
  if (leftMs < ROOM_MS) await sleep(leftMs + 100)
}
