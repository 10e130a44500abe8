import { setTimeout as sleep } from 'node:timers/promises'

const HOUR_MS = 3_600_000
/** Longer than a test of one window takes, also on a machine that is busy or stands still for a moment. */
const ROOM_MS = 20_000

/**
 * Waits while a window of caps is about to end: windows follow the clock, and those of days and months end with an hour.
 * @param roomMs the time that the test needs
 */
export async function awayFromTheHour(roomMs = ROOM_MS): Promise<void> {
  const leftMs = HOUR_MS - (Date.now() % HOUR_MS)
  if (leftMs < roomMs) await sleep(leftMs + 100)
}
