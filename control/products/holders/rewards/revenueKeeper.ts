import type { Logger } from 'pino'
import { apart } from '../../../runtime/apart.ts'
import { tryLock } from '../../../runtime/db/locks.ts'
import type { Pool } from '../../../runtime/db/pool.ts'
import { logEvent } from '../../../runtime/logEvents.ts'
import { Loop } from '../../../runtime/loop.ts'
import type { HoldersLimits } from '../limits.ts'
import { type CloseOptions, closePeriod } from './closePeriod.ts'
import type { HolderScanner } from './holderScanner.ts'
import type { PayoutSender } from './payoutSender.ts'

export interface RevenueKeeperOptions extends CloseOptions {
  readonly pool: Pool
  /** Undefined where no rewards are paid. */
  readonly scanner: HolderScanner | undefined
  readonly sender: PayoutSender
  /** The vault's work, done with every pass; undefined without a vault. */
  readonly keepVault: (() => Promise<void>) | undefined
  readonly log: Logger
  readonly limits: HoldersLimits
}

/** Distributes revenue: reads the holders of the token, closes periods, and sends their payouts. */
export function revenueKeeper(options: RevenueKeeperOptions): Loop {
  const { pool, scanner, sender, keepVault, limits, log } = options
  // Payouts that were set aside are sent even while transfers cannot be read.
  const steps = [() => scanner?.next(), () => close(options), () => sender.sendDue(), () => keepVault?.()]
  return new Loop('shares of the revenue', limits.revenueCheckMs, log, async () => {
    let isMore = false
    await tryLock(pool, 'revenuePeriods', async () => {
      await apart(steps, async (step) => {
        if ((await step()) === true) isMore = true
      })
    })
    return isMore
  })
}

/** @returns whether a period was closed, so that the next one may be due */
async function close(options: RevenueKeeperOptions): Promise<boolean> {
  const period = await closePeriod(options.pool, options)
  if (period === undefined) return false
  const { number, netUnits, rewardNanos, vaultNanos, holders } = period
  const shown = { net: netUnits.toString(), rewards: rewardNanos.toString(), vault: vaultNanos.toString(), holders }
  logEvent(options.log, number === 0 ? 'revenue_started' : 'revenue_period_closed', { period: number, ...shown })
  return true
}
