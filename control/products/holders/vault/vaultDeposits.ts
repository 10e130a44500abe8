import type { Hex } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'

/** Revenue that the treasury has sent to the vault. */
export interface VaultDeposit {
  /** Of the period. */
  readonly number: number
  readonly endsAt: Date
  readonly hash: Hex
  readonly block: number
  /** Blocks that it is deep, its own counted, when the chain was read last. */
  readonly confirmations: number
  /** The smallest units of the coin. */
  readonly tokens: bigint
  readonly units: bigint
}

/** The last of them, newest first. */
export async function vaultDeposits(db: Queryable, vault: Address, limit: number): Promise<VaultDeposit[]> {
  const found = await db.query<Omit<VaultDeposit, 'tokens' | 'units'> & { tokens: string; units: string }>(
    `SELECT o.number, p.ends_at AS "endsAt", t.hash, t.block_number AS block,
       greatest(coalesce(i.head_block, t.block_number) - t.block_number + 1, 1) AS confirmations,
       o.amount::text AS tokens, o.units::text AS units
     FROM revenue_payouts o JOIN revenue_periods p USING (number) CROSS JOIN chain_identity i
     JOIN chain_transactions t ON t.purpose = 'vault' AND t.subject_id = o.number::text AND t.state = 'mined'
     WHERE o.purpose = 'vault' AND o.receiver = $1 ORDER BY o.number DESC LIMIT $2`,
    [vault, limit],
  )
  return found.rows.map((row) => ({ ...row, tokens: BigInt(row.tokens), units: BigInt(row.units) }))
}
