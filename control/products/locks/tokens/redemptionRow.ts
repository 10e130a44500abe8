import type { Address } from '../../../../contract/payments/address.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import type { Redeemed } from './lockTokensContract.ts'

export type RedemptionState = 'waiting' | 'credited' | 'refused' | 'expired'

/** Redeemed tokens that are in no holding yet. */
export interface WaitingRedemption {
  readonly id: string
  readonly seriesId: string
  readonly wallet: Address
  readonly micros: bigint
}

/**
 * Writes redemptions that are not known yet, in the order of the chain.
 * @returns those that are new
 */
export async function insertRedemptions(
  client: Client,
  contract: Address,
  redeemed: readonly Redeemed[],
): Promise<Redeemed[]> {
  const places = new Map<string, number>()
  const added: Redeemed[] = []
  for (const one of redeemed) {
    const { hash, block, seriesId, wallet, note, micros } = one
    const place = places.get(hash) ?? 0
    places.set(hash, place + 1)
    const inserted = await client.query(
      `INSERT INTO lock_redemptions (id, hash, block_number, contract, series_id, wallet, note, micros, state)
       VALUES ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting') ON CONFLICT DO NOTHING`,
      [`${hash}:${place}`, hash, block, contract, seriesId, wallet, note, micros.toString()],
    )
    if (inserted.rowCount === 1) added.push(one)
  }
  return added
}

/**
 * Redemptions that wait: one of each wallet, then a second one of each, so that thousands of one wallet delay no other.
 * @param after the wallet behind which to begin; those up to it come last
 * @param pivot an id; of each wallet, those behind it come first
 */
export async function waitingRedemptions(
  db: Queryable,
  limit: number,
  after: string,
  pivot: string,
): Promise<WaitingRedemption[]> {
  const found = await db.query<Omit<WaitingRedemption, 'micros'> & { micros: string }>(
    `SELECT id, series_id AS "seriesId", wallet, micros::text AS micros
     FROM (SELECT id, series_id, wallet, micros,
         row_number() OVER (PARTITION BY wallet ORDER BY id > $3 DESC, id) AS turn
       FROM lock_redemptions WHERE state = 'waiting') AS waiting
     ORDER BY turn, wallet > $2 DESC, wallet LIMIT $1`,
    [limit, after, pivot],
  )
  return found.rows.map((row) => ({ ...row, micros: BigInt(row.micros) }))
}

/** Ends the waiting of a redemption. @returns false when it had ended */
export async function endRedemption(
  client: Client,
  id: string,
  state: Exclude<RedemptionState, 'waiting'>,
  accountId?: string,
): Promise<boolean> {
  const ended = await client.query(
    `UPDATE lock_redemptions SET state = $2, account_id = $3 WHERE id = $1 AND state = 'waiting'`,
    [id, state, accountId ?? null],
  )
  return ended.rowCount === 1
}
