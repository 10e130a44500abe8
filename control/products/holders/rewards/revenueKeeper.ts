import type { Logger } from 'pino'
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
export class RevenueKeeper {
  private readonly options: RevenueKeeperOptions
  private readonly loop: Loop

  constructor(options: RevenueKeeperOptions) {
    this.options = options
    this.loop = new Loop('shares of the revenue', options.limits.revenueCheckMs, options.log, () => this.pass())
  }

  stop(): Promise<void> {
    return this.loop.stop()
  }

  private async pass(): Promise<void> {
    const { pool, scanner, sender, keepVault } = this.options
    await tryLock(pool, 'revenuePeriods', async () => {
      // Payouts that were set aside are sent even while transfers cannot be read.
      const errors: unknown[] = []
      for (const step of [() => scanner?.next(), () => this.close(), () => sender.sendDue(), () => keepVault?.()]) {
        try {
          if ((await step()) === true) this.loop.wake()
        } catch (error) {
          errors.push(error)
        }
      }
      if (errors.length > 0) throw errors[0]
    })
  }

  /** @returns whether one was closed, so that the next one may be due */
  private async close(): Promise<boolean> {
    const { pool, log } = this.options
    const period = await closePeriod(pool, this.options)
    if (period === undefined) return false
    const { number, netUnits, rewardNanos, vaultNanos, holders } = period
    const shown = { net: netUnits.toString(), rewards: rewardNanos.toString(), vault: vaultNanos.toString(), holders }
    logEvent(log, number === 0 ? 'revenue_started' : 'revenue_period_closed', { period: number, ...shown })
    return true
  }
}
