import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 50
const TIMEOUT_MS = 60_000

/** Waits until `condition` holds. */
export async function until(
  what: string,
  condition: () => Promise<boolean> | boolean,
  timeoutMs: number = TIMEOUT_MS,
): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs
  while (!(await condition())) {
    assert.ok(Date.now() < deadlineMs, `after ${timeoutMs} ms still waiting until ${what}`)
    await sleep(POLL_MS)
  }
}
