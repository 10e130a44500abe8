import type { Hex } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import { intArray } from '../../../runtime/db/arrays.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** The totals of all closed periods; nanos of coin unless said otherwise. */
export interface Lifetime {
  readonly periods: number
  readonly rewardUnits: bigint
  readonly rewardNanos: bigint
  readonly paidNanos: bigint
  readonly creditedNanos: bigint
  /** Balances of holders that are below the minimum now. */
  readonly carriedNanos: bigint
  /** Rewards that had no holder yet. */
  readonly unearnedNanos: bigint
}

/** The transactions of a period. */
export interface PeriodMovements {
  readonly contract: Address
  readonly amount: bigint
  readonly funding: Hex | null
  readonly publication: Hex | null
}

/** All closed periods together. */
export async function lifetimeOf(db: Queryable): Promise<Lifetime> {
  const found = await db.query<
    Record<'periods' | 'units' | 'nanos' | 'paid' | 'credited' | 'carried' | 'unearned', string>
  >(
    `SELECT count(*) FILTER (WHERE number > 0)::text AS periods, coalesce(sum(reward_units), 0)::text AS units,
       coalesce(sum(reward_nanos), 0)::text AS nanos, coalesce(sum(paid_nanos), 0)::text AS paid,
       coalesce(sum(credited_nanos), 0)::text AS credited,
       coalesce((SELECT carried_nanos FROM revenue_periods ORDER BY number DESC LIMIT 1), 0)::text AS carried,
       coalesce((SELECT pool_nanos - earned_nanos FROM revenue_periods ORDER BY number DESC LIMIT 1), 0)::text AS unearned
     FROM revenue_periods`,
  )
  const [row] = found.rows
  return {
    periods: Number(row?.periods ?? 0),
    rewardUnits: BigInt(row?.units ?? 0),
    rewardNanos: BigInt(row?.nanos ?? 0),
    paidNanos: BigInt(row?.paid ?? 0),
    creditedNanos: BigInt(row?.credited ?? 0),
    carriedNanos: BigInt(row?.carried ?? 0),
    unearnedNanos: BigInt(row?.unearned ?? 0),
  }
}

/** Where the payouts of these periods are on the chain, by number. */
export async function movementsOf(db: Queryable, numbers: readonly number[]): Promise<Map<number, PeriodMovements>> {
  const hashOf = (purpose: string) => `(SELECT hash FROM chain_transactions t WHERE t.purpose = '${purpose}'
    AND t.subject_id = o.number::text AND t.state = 'mined' ORDER BY t.id LIMIT 1)`
  const found = await db.query<Omit<PeriodMovements, 'amount'> & { number: number; amount: string }>(
    `SELECT o.number, o.receiver AS contract, o.amount::text AS amount, ${hashOf('reward')} AS funding,
       ${hashOf('reward_root')} AS publication
     FROM revenue_payouts o WHERE o.purpose = 'reward' AND o.number = ANY ($1::bigint[])`,
    [intArray(numbers)],
  )
  return new Map(found.rows.map((row) => [row.number, { ...row, amount: BigInt(row.amount) }]))
}
