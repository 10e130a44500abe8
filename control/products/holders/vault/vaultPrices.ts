import type { Address } from '../../../../contract/payments/address.ts'
import type { Queryable } from '../../../runtime/db/pool.ts'
import type { VaultState } from './vaultContract.ts'

const HOUR_SECONDS = 3_600

/** The worth of a whole share at a block. */
export interface VaultPrice {
  readonly block: number
  /** Seconds since 1970. */
  readonly blockTime: number
  /** The smallest units of the coin. */
  readonly price: bigint
}

/** The hour that a moment is in, counted from 1970. @param seconds since 1970 */
export const hourOf = (seconds: number): number => Math.floor(seconds / HOUR_SECONDS)

/** Keeps the price of a share, the first that is read in an hour. */
export async function keepPrice(db: Queryable, vault: Address, state: VaultState): Promise<void> {
  const { block, blockTime, price } = state
  await db.query(
    'INSERT INTO vault_prices (hour, block, block_time, vault, price) VALUES ($1, $2, $3, $4, $5) ON CONFLICT DO NOTHING',
    [hourOf(blockTime), block, blockTime, vault, price.toString()],
  )
}

/** The last price that was kept before a moment; undefined where the vault is younger. @param seconds since 1970 */
export async function priceBefore(db: Queryable, vault: Address, seconds: number): Promise<VaultPrice | undefined> {
  const found = await db.query<{ block: number; block_time: number; price: string }>(
    `SELECT block, block_time, price::text AS price FROM vault_prices WHERE vault = $1 AND block_time <= $2
     ORDER BY hour DESC LIMIT 1`,
    [vault, seconds],
  )
  const [row] = found.rows
  return row && { block: row.block, blockTime: row.block_time, price: BigInt(row.price) }
}
