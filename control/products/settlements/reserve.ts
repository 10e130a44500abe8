import { NANOS_PER_COIN } from '../../../contract/money/coin.ts'
import type { Address } from '../../../contract/payments/address.ts'
import type { PaymentAsset } from '../../../contract/payments/terms.ts'
import type { ChainClient } from '../../chain/chainClient.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { tokensOf, worth } from '../reserve/held.ts'
import { owedByClass, owedIn } from '../reserve/liabilities.ts'

/** The amount of an asset that the treasury holds. */
export interface Held {
  readonly asset: PaymentAsset
  /** Atomic units of the token. */
  readonly amount: bigint
  readonly units: bigint
}

/** The treasury's holdings at a block against the gateway's debts to its customers. Amounts are units unless said otherwise. */
export interface Reserve {
  readonly treasury: Address
  readonly block: number
  readonly coinUsdUnits: number
  readonly held: readonly Held[]
  readonly heldUnits: bigint
  /** All classes of liabilities in coin; integers of 1e-9 coin. */
  readonly owedCoinNanos: bigint
  readonly owedCoinUnits: bigint
  /** Payments of requests that have not ended, refunds that are not sent, and credits of payers. */
  readonly owedUsdUnits: bigint
}

export interface ReserveOptions {
  readonly treasury: Address
  readonly assets: readonly PaymentAsset[]
  readonly coinUsdUnits: number
}

/**
 * Reads the reserve: tokens as the chain has them at the last block that the book has read, and the book as it is now.
 * @throws GatewayError chain_unavailable; errors of PostgreSQL
 */
export async function readReserve(
  db: Queryable,
  chain: ChainClient,
  { treasury, assets, coinUsdUnits }: ReserveOptions,
): Promise<Reserve> {
  const [owed, identity] = await Promise.all([
    owedByClass(db),
    db.query<{ block: number }>('SELECT scanned_block AS block FROM chain_identity'),
  ])
  const { block = 0 } = identity.rows[0] ?? {}
  const held = await Promise.all(
    assets.map(async (asset) => {
      const amount = await tokensOf(chain, asset.address, treasury, block)
      return { asset, amount, units: worth(amount, asset, coinUsdUnits) }
    }),
  )
  const owedCoinNanos = owedIn(owed, 'coin')
  return {
    treasury,
    block,
    coinUsdUnits,
    held,
    heldUnits: held.reduce((sum, one) => sum + one.units, 0n),
    owedCoinNanos,
    owedCoinUnits: (owedCoinNanos * BigInt(coinUsdUnits)) / BigInt(NANOS_PER_COIN),
    owedUsdUnits: owedIn(owed, 'usd'),
  }
}
