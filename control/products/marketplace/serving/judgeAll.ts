import type { Logger } from 'pino'
import { GATEWAY } from '../../../runtime/activity/activity.ts'
import { type Pool, withTransaction } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import type { MarketplaceLimits } from '../limits.ts'
import { lockOpenAdmissions } from './admission.ts'
import { judge } from './judge.ts'
import { readWindow } from './measures.ts'
import { changeState } from './transition.ts'

/**
 * Suspends, promotes and resumes registered providers by their measurements. Rows are locked, so that controls which run
 * this concurrently change each state once.
 */
export function judgeAll(pool: Pool, log: Logger, nowMs: number, limits: MarketplaceLimits): Promise<void> {
  return withTransaction(pool, async (client) => {
    for (const admission of await lockOpenAdmissions(client)) {
      const { window, served } = await readWindow(client, admission, nowMs, limits)
      const change = judge(admission, window, served, nowMs, limits)
      if (change === undefined) continue
      await changeState(client, GATEWAY, admission, change)
      const { providerId: provider, model } = admission
      const told = { provider, model, to: change.to, reason: change.reason, measured: change.measured }
      logEvent(log, change.to === 'suspended' ? 'provider_suspended' : 'provider_state_changed', told)
    }
  })
}
