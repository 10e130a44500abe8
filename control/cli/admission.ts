import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { EventDispatcher } from '../admission/dispatcher.ts'
import type { CliContext } from './context.ts'

const POLL_MS = 20

/**
 * Applies bookings just made for accounts to the admission state, so that they can be spent immediately, even while control
 * is down. If that fails, control applies them when it is up, and the operator is informed.
 */
export async function applyToAdmission(context: CliContext, accountIds: readonly string[]): Promise<void> {
  try {
    const [pool, redis] = [await context.pool(), await context.redis()]
    const dispatcher = new EventDispatcher({ pool, redis, log: pino({ enabled: false }), limits: context.limits })
    try {
      const deadlineMs = performance.now() + context.limits.admissionCommandMs
      while (performance.now() < deadlineMs) {
        dispatcher.wake()
        const waiting = await pool.query('SELECT 1 FROM admission_events WHERE account_id = ANY ($1) LIMIT 1', [
          accountIds,
        ])
        if (waiting.rowCount === 0) return
        await sleep(POLL_MS)
      }
    } finally {
      await dispatcher.stop()
    }
    context.warn('the book is changed; the gateway takes it up as soon as control runs')
  } catch (error) {
    context.warn(`the book is changed; the gateway takes it up when Redis is back (${(error as Error).message})`)
  }
}
