import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'

const RETRY_MS = 200
const ATTEMPTS_PER_WARNING = 25

/** Tries again and again until it is done; once in a while the log says that this goes on. */
export async function untilDone(log: Logger, what: string, attempt: () => Promise<boolean>): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      if (await attempt()) return
    } catch (error) {
      log.debug({ err: error }, what)
    }
    if (attempts % ATTEMPTS_PER_WARNING === 0) log.warn(`still waiting: ${what}`)
    await sleep(RETRY_MS)
  }
}
