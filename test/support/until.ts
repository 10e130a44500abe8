import assert from 'node:assert/strict'
import { setTimeout as sleep } from 'node:timers/promises'

const POLL_MS = 50
const TIMEOUT_MS = 60_000

/** Waits until `condition` holds. @param what a function says at the end of the wait what is missing */
export async function until(
  what: string | (() => string),
  condition: () => Promise<boolean> | boolean,
  timeoutMs: number = TIMEOUT_MS,
): Promise<void> {
  const deadlineMs = Date.now() + timeoutMs
  while (!(await condition())) {
    if (Date.now() >= deadlineMs) {
      assert.fail(`after ${timeoutMs} ms still waiting until ${typeof what === 'string' ? what : what()}`)
    }
    await sleep(POLL_MS)
  }
}

/** Waits until a reading is as wanted. @returns it, since the next one may come from a worker that has not heard yet */
export async function untilRead<T>(
  what: string,
  read: () => Promise<T>,
  isWanted: (reading: T) => boolean,
): Promise<T> {
  let reading: T | undefined
  await until(what, async () => {
    reading = await read()
    return isWanted(reading)
  })
  return reading as T
}

/** Waits until a reading is the same twice, as metrics of a worker that stood still are those of before. @returns it */
export async function untilSame<T>(what: string, read: () => Promise<T>): Promise<T> {
  let reading = await read()
  await until(what, async () => {
    const last = reading
    reading = await read()
    return JSON.stringify(reading) === JSON.stringify(last)
  })
  return reading
}

/** Waits until a reading is above 0 and the same twice. @returns it */
export async function untilStill(what: string, read: () => Promise<number>): Promise<number> {
  let reading = 0
  await until(what, async () => {
    const last = reading
    reading = await read()
    return reading > 0 && reading === last
  })
  return reading
}
