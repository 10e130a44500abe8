import { setTimeout as sleep } from 'node:timers/promises'
import type { Logger } from 'pino'
import type { Limits } from '../limits.ts'
import { backoffMs } from '../runtime/backoff.ts'
import { logEvent } from '../runtime/logEvents.ts'

const FIRST_DELAY_MS = 100
const DELAY_MAX_MS = 2_000
const SAY_AGAIN_MS = 5_000

/**
 * Retries `attempt` with backoff until it succeeds, and logs the name of the dependency.
 * @param what as the log and the error name it, such as "PostgreSQL at postgres://127.0.0.1:5432/sluice"
 * @param signal ends the waiting
 * @throws Error after limits.dependencyTimeoutMs, or the signal's reason
 */
export async function waitFor<T>(
  what: string,
  log: Logger,
  signal: AbortSignal,
  attempt: () => Promise<T>,
  limits: Limits,
): Promise<T> {
  const startedMs = performance.now()
  let saidMs = Number.NEGATIVE_INFINITY
  for (let attempts = 1; ; attempts++) {
    signal.throwIfAborted()
    try {
      return await attempt()
    } catch (error) {
      const reason = reasonOf(error)
      const nowMs = performance.now()
      if (nowMs - startedMs > limits.dependencyTimeoutMs) throw new Error(`${what} did not come up: ${reason}`)
      if (nowMs - saidMs > SAY_AGAIN_MS) {
        logEvent(log, 'dependency_pending', { waitingFor: what, reason })
        saidMs = nowMs
      }
      await sleep(backoffMs(attempts, FIRST_DELAY_MS, DELAY_MAX_MS), undefined, { signal })
    }
  }
}

/** Node reports a refused connection to several addresses as an error without a message. */
function reasonOf(error: unknown): string {
  if (error instanceof AggregateError) return error.errors.map(reasonOf).join('; ')
  return error instanceof Error ? error.message : String(error)
}
