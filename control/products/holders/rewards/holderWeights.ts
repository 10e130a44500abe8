import type { Address } from '../../../../contract/payments/address.ts'
import { textArray } from '../../../runtime/db/arrays.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { HoldersLimits } from '../limits.ts'
import type { Weight } from './allocate.ts'

/** A stretch of time in seconds since 1970, the end not included. */
export interface Span {
  readonly fromSeconds: number
  readonly untilSeconds: number
}

/**
 * Balances at the beginning count for the whole span, and each transfer for the rest of the span after it. Transfers before the
 * span are part of the balance at its beginning.
 */
const PARTS = `
  SELECT address, amount * ($2::bigint - $1::bigint) AS weight, amount FROM reward_balances
  UNION ALL
  SELECT receiver, amount * ($2 - greatest(block_time, $1)), amount FROM reward_transfers WHERE block_time < $2
  UNION ALL
  SELECT sender, -amount * ($2 - greatest(block_time, $1)), -amount FROM reward_transfers WHERE block_time < $2`

/**
 * The weight of each holder over a span, by address: its balance times the seconds that it held it.
 * @param excluded addresses that do not count
 * @throws Error for more holders than limits.rewardHoldersMax
 */
export async function holderWeights(
  db: Queryable,
  { fromSeconds, untilSeconds }: Span,
  excluded: readonly Address[],
  limits: HoldersLimits,
): Promise<Weight[]> {
  const found = await db.query<{ address: Address; weight: string }>(
    `SELECT address, sum(weight)::text AS weight FROM (${PARTS}) AS parts WHERE address <> ALL ($3::text[])
     GROUP BY address HAVING sum(weight) > 0 ORDER BY address LIMIT $4`,
    [fromSeconds, untilSeconds, textArray(excluded), limits.rewardHoldersMax + 1],
  )
  if (found.rows.length > limits.rewardHoldersMax) {
    throw new Error(`there are more holders than limits.rewardHoldersMax = ${limits.rewardHoldersMax}`)
  }
  return found.rows.map(({ address, weight }) => ({ address, weight: BigInt(weight) }))
}

/** One holder's part of a span. */
export interface HolderPart {
  readonly weight: bigint
  readonly totalWeight: bigint
  /** Its balance at the end, in the smallest units of the token. */
  readonly amount: bigint
}

/** The weight of one address over a span, and the total of all that count. */
export async function holderPart(
  db: Queryable,
  { fromSeconds, untilSeconds }: Span,
  excluded: readonly Address[],
  address: Address,
): Promise<HolderPart> {
  const found = await db.query<{ weight: string; total: string; amount: string }>(
    `SELECT coalesce(sum(weight) FILTER (WHERE address = $4), 0)::text AS weight,
       coalesce(sum(amount) FILTER (WHERE address = $4), 0)::text AS amount,
       coalesce(sum(weight) FILTER (WHERE address <> ALL ($3::text[])), 0)::text AS total
     FROM (${PARTS}) AS parts`,
    [fromSeconds, untilSeconds, textArray(excluded), address],
  )
  const { weight = '0', total = '0', amount = '0' } = found.rows[0] ?? {}
  return { weight: BigInt(weight), totalWeight: BigInt(total), amount: BigInt(amount) }
}

/** Adds the transfers before a moment to the balances, so that the stored transfers stay few. */
export async function collapseTransfers(db: Queryable, untilSeconds: number): Promise<void> {
  await db.query(
    `WITH gone AS (DELETE FROM reward_transfers WHERE block_time < $1 RETURNING sender, receiver, amount),
       moved AS (
         SELECT address, sum(amount) AS amount FROM (
           SELECT receiver AS address, amount FROM gone UNION ALL SELECT sender, -amount FROM gone
         ) AS sides GROUP BY address
       )
     INSERT INTO reward_balances AS b (address, amount) SELECT address, amount FROM moved WHERE amount <> 0
     ON CONFLICT (address) DO UPDATE SET amount = b.amount + excluded.amount`,
    [untilSeconds],
  )
}
