import type { Queryable } from '../runtime/db/pool.ts'

/** Equal transfers of one transaction, to or from the treasury, that nothing in the book has claimed. */
export interface UnclaimedTransfer {
  readonly hash: string
  readonly block: number
  readonly token: string
  readonly from: string
  readonly to: string
  /** Atomic units of each. */
  readonly amount: string
  readonly transfers: number
}

/** Transfers that nothing has claimed, newest first. */
export async function unclaimedTransfers(db: Queryable, limit: number): Promise<UnclaimedTransfer[]> {
  const found = await db.query<UnclaimedTransfer>(
    `SELECT hash, block_number AS block, token, transfer_from AS "from", transfer_to AS "to", amount::text AS amount,
       (transfers - deposits)::int AS transfers
     FROM chain_transfers_unclaimed WHERE transfers > deposits ORDER BY block_number DESC, hash LIMIT $1`,
    [limit],
  )
  return found.rows
}
