import type { Address } from '../../../contract/payments/address.ts'
import { tokenUsdUnits } from '../../../contract/payments/conversion.ts'
import type { PaymentAsset } from '../../../contract/payments/terms.ts'
import { type ChainClient, readChain } from '../../chain/chainClient.ts'
import { PAYMENT_ABI } from '../../chain/settlementCall.ts'
import type { Queryable } from '../../runtime/db/pool.ts'

/** A holder of tokens that back the debts. */
export interface Holder {
  readonly role: 'treasury' | 'vault'
  readonly address: Address
}

/** A holder's balance of an asset. */
export interface Held {
  readonly asset: PaymentAsset
  readonly holder: Holder
  /** Atomic units of the token, at the block. */
  readonly amount: bigint
  /** Net amount of the gateway's own later transactions, which the book counts already. Atomic units. */
  readonly later: bigint
  /** The worth of both. */
  readonly units: bigint
}

/** Where it is read. */
export interface HeldOptions {
  readonly chain: ChainClient
  readonly assets: readonly PaymentAsset[]
  readonly holders: readonly Holder[]
  readonly coinUsdUnits: number
  readonly block: number
}

/**
 * Reads what holders have of each asset at a block.
 * @param later as of `movedSince`
 * @throws GatewayError chain_unavailable
 */
export function readHeld(options: HeldOptions, later: ReadonlyMap<string, bigint>): Promise<Held[]> {
  const { assets, holders } = options
  const pairs = assets.flatMap((asset) => holders.map((holder) => ({ asset, holder })))
  return Promise.all(
    pairs.map(async ({ asset, holder }) => {
      const amount = await tokensOf(options.chain, asset.address, holder.address, options.block)
      const moved = holder.role === 'treasury' ? (later.get(asset.address) ?? 0n) : 0n
      return { asset, holder, amount, later: moved, units: worth(amount + moved, asset, options.coinUsdUnits) }
    }),
  )
}

/** Atomic units of a token at a block. @throws GatewayError chain_unavailable */
export function tokensOf(chain: ChainClient, token: Address, holder: Address, block: number): Promise<bigint> {
  const call = { abi: PAYMENT_ABI, address: token, functionName: 'balanceOf', args: [holder] } as const
  return readChain(() => chain.readContract({ ...call, blockNumber: BigInt(block) }))
}

/** The worth of tokens in units, rounded down. */
export function worth(amount: bigint, asset: PaymentAsset, coinUsdUnits: number): bigint {
  return (amount * BigInt(tokenUsdUnits(asset, coinUsdUnits))) / 10n ** BigInt(asset.decimals)
}

/** By token, the net amount that the treasury's transactions moved after a block, by the book: received less sent. */
export async function movedSince(db: Queryable, treasury: Address, block: number): Promise<Map<string, bigint>> {
  const found = await db.query<{ token: string; amount: string }>(
    `SELECT token, sum(CASE WHEN transfer_to = $1 THEN amount ELSE 0 END
       - CASE WHEN transfer_from = $1 THEN amount ELSE 0 END)::text AS amount
     FROM chain_transactions WHERE state = 'mined' AND block_number > $2 AND token IS NOT NULL GROUP BY token`,
    [treasury, block],
  )
  return new Map(found.rows.map(({ token, amount }) => [token, BigInt(amount)]))
}
