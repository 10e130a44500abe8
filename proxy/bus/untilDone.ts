import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import { logEvent } from '../logEvents.ts'

const RETRY_MS = 200
const ATTEMPTS_PER_WARNING = 25

/**
 * Retries at a fixed interval until `attempt` succeeds, and logs every few seconds that it still waits.
 * @param waitingFor as the log names it
 */
export async function untilDone(log: Logger, waitingFor: string, attempt: () => Promise<boolean>): Promise<void> {
  for (let attempts = 1; ; attempts++) {
    try {
      if (await attempt()) return
    } catch (error) {
      logEvent(log, 'dependency_unavailable', { waitingFor, err: error })
    }
    if (attempts % ATTEMPTS_PER_WARNING === 0) logEvent(log, 'dependency_pending', { waitingFor })
    await sleep(RETRY_MS)
  }
}
