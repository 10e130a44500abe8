import type { HolderSettings } from '../../../chain/holderSettings.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import { lastPeriod } from './periodRow.ts'
import { nextSpan, type PeriodSpan } from './periodSpan.ts'
import { revenueTotal } from './revenueTotal.ts'
import { splitRevenue } from './splitRevenue.ts'

/** The revenue of the period that runs is shown as it was at whole multiples of this time, in whole steps of this size. */
const SHOWN_EVERY_MS = 600_000
const SHOWN_STEP_UNITS = 10_000_000n

/** The current period, up to now; amounts are units unless said otherwise. */
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

/**
 * The current period, undefined before revenue counts. Its revenue is rounded in time and amount, because everybody can read it
 * often enough to see the charge of each request in its growth.
 */
export async function currentPeriod(
  db: Queryable,
  { periodSeconds, vaultShareBps }: HolderSettings,
): Promise<CurrentPeriod | undefined> {
  const last = await lastPeriod(db)
  if (last === undefined) return undefined
  const span = nextSpan(last.endsAt, periodSeconds)
  const now = Date.now()
  const until = Math.max(span.startsAt.getTime(), Math.min(now - (now % SHOWN_EVERY_MS), span.endsAt.getTime()))
  const exactUnits = (await revenueTotal(db, new Date(until))) - last.totalUnits
  const netUnits = exactUnits - (exactUnits % SHOWN_STEP_UNITS)
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
