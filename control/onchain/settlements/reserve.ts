import { NANOS_PER_COIN } from '../../../contract/money/coin.ts'
import type { Address } from '../../../contract/payments/address.ts'
import { tokenUsdUnits } from '../../../contract/payments/conversion.ts'
import type { PaymentAsset } from '../../../contract/payments/terms.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type ChainClient, readChain } from '../chain/chainClient.ts'
import { PAYMENT_ABI } from '../chain/settlementCall.ts'

/** What the treasury holds of an asset. */
export interface Held {
  readonly asset: PaymentAsset
  /** Atomic units of the token. */
  readonly amount: bigint
  readonly units: bigint
}

/** What the treasury holds at a block against what the gateway owes its customers. Amounts are units unless said otherwise. */
export interface Reserve {
  readonly treasury: Address
  readonly block: number
  readonly coinUsdUnits: number
  readonly held: readonly Held[]
  readonly heldUnits: bigint
  /** Coin of accounts and agents, in links and in withdrawals that are not sent; integers of 1e-9 coin. */
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

/** Free credits are not among what is owed: they are spent here alone and never paid out. */
const OWED = `
  SELECT coalesce(sum(balance) FILTER (WHERE currency = 'coin' AND (kind = 'coin' OR id IN ('escrow_coin', 'rewards', 'vault'))), 0)::text AS nanos,
    coalesce(sum(balance) FILTER (WHERE currency = 'usd' AND (kind IN ('coin', 'payer_credit') OR id = 'escrow')), 0)::text
      AS units,
    (SELECT scanned_block FROM chain_identity) AS block
  FROM ledger_accounts`

/**
 * Reads the reserve: tokens as the chain has them at the last block that the book has read, and the book as it is now.
 * @throws GatewayError chain_unavailable; errors of PostgreSQL
 */
export async function readReserve(
  db: Queryable,
  chain: ChainClient,
  { treasury, assets, coinUsdUnits }: ReserveOptions,
): Promise<Reserve> {
  const found = await db.query<{ nanos: string; units: string; block: number }>(OWED)
  const { nanos = '0', units = '0', block = 0 } = found.rows[0] ?? {}
  const held = await Promise.all(assets.map((asset) => heldOf(chain, treasury, asset, coinUsdUnits, BigInt(block))))
  const owedCoinNanos = BigInt(nanos)
  return {
    treasury,
    block,
    coinUsdUnits,
    held,
    heldUnits: held.reduce((sum, one) => sum + one.units, 0n),
    owedCoinNanos,
    owedCoinUnits: (owedCoinNanos * BigInt(coinUsdUnits)) / BigInt(NANOS_PER_COIN),
    owedUsdUnits: BigInt(units),
  }
}

async function heldOf(
  chain: ChainClient,
  treasury: Address,
  asset: PaymentAsset,
  coinUsdUnits: number,
  blockNumber: bigint,
): Promise<Held> {
  const call = { abi: PAYMENT_ABI, address: asset.address, functionName: 'balanceOf', args: [treasury] } as const
  const amount = await readChain(() => chain.readContract({ ...call, blockNumber }))
  const units = (amount * BigInt(tokenUsdUnits(asset, coinUsdUnits))) / 10n ** BigInt(asset.decimals)
  return { asset, amount, units }
}
