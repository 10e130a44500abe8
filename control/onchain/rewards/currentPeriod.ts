import type { Queryable } from '../../runtime/db/pool.ts'
import type { HolderSettings } from '../payments/holderSettings.ts'
import { lastPeriod } from './periodRow.ts'
import { nextSpan, type PeriodSpan } from './periodSpan.ts'
import { revenueTotal } from './revenueTotal.ts'
import { splitRevenue } from './splitRevenue.ts'

/** The period that runs, as far as it is; amounts are units unless said otherwise. */
export interface CurrentPeriod extends PeriodSpan {
  readonly number: number
  readonly netUnits: bigint
  /** The rewards of holders if it ended now. */
  readonly rewardUnits: bigint
  /** Nanos of coin that had no holder before. */
  readonly unearnedNanos: bigint
  /** Seconds since 1970: now, at most its end. */
  readonly nowSeconds: number
}

/** The current period, by the bookings so far; undefined before revenue counts. */
export async function currentPeriod(
  db: Queryable,
  { periodSeconds, vaultShareBps }: HolderSettings,
): Promise<CurrentPeriod | undefined> {
  const last = await lastPeriod(db)
  if (last === undefined) return undefined
  const span = nextSpan(last.endsAt, periodSeconds)
  const now = Date.now()
  const netUnits = (await revenueTotal(db, new Date(Math.min(now, span.endsAt.getTime())))) - last.totalUnits
  const { rewardUnits } = splitRevenue(netUnits, last, true, vaultShareBps)
  return {
    ...span,
    number: last.number + 1,
    netUnits,
    rewardUnits,
    unearnedNanos: last.poolNanos - last.earnedNanos,
    nowSeconds: Math.min(Math.floor(now / 1_000), span.untilSeconds),
  }
}
