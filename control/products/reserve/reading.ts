import type { Hash } from 'viem'
import { NANOS_PER_COIN } from '../../../contract/money/coin.ts'
import type { PaymentAsset } from '../../../contract/payments/terms.ts'
import { coinUsdUnitsInForce } from '../../catalog/pricing/coinAmounts.ts'
import { type ChainClient, chainUnavailable, readChain } from '../../chain/chainClient.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { type Held, type Holder, movedSince, readHeld } from './held.ts'
import { type Owed, owedByClass } from './liabilities.ts'

/** The chain of a gateway that takes payments, as the operator has named it. */
export interface ReserveChain {
  readonly client: ChainClient
  readonly chainId: number
  readonly assets: readonly PaymentAsset[]
  /** The treasury first. */
  readonly holders: readonly [Holder, ...Holder[]]
}

/** A class with the worth of its debt. */
export interface OwedWorth extends Owed {
  /** Rounded up. */
  readonly units: bigint
}

/** The debts, and the tokens held against them on the chain. Amounts are units unless said otherwise. */
export interface ReserveReading {
  /** Undefined where the gateway has no chain. */
  readonly chain: { readonly of: ReserveChain; readonly block: number; readonly blockHash: string } | undefined
  readonly coinUsdUnits: number
  readonly held: readonly Held[]
  readonly heldUnits: bigint
  readonly owed: readonly OwedWorth[]
  readonly owedUnits: bigint
}

/**
 * Reads the reserve: the book as the transaction sees it, and the tokens at the last block that the book has read, which is
 * as deep as deposits have to be.
 * @param client in a transaction of one snapshot
 * @returns undefined while a coin has no price
 * @throws GatewayError chain_unavailable, also while the book is bound to no chain yet, and where the block was replaced
 *   meanwhile; errors of PostgreSQL
 */
export async function readReserve(
  client: Client,
  chain: ReserveChain | undefined,
): Promise<ReserveReading | undefined> {
  const coinUsdUnits = await coinUsdUnitsInForce(client)
  if (coinUsdUnits === undefined) return undefined
  const owed = (await owedByClass(client)).map((one) => ({ ...one, units: owedWorth(one, coinUsdUnits) }))
  const { held, at } = chain === undefined ? { held: [], at: undefined } : await heldOf(client, chain, coinUsdUnits)
  return {
    chain: at,
    coinUsdUnits,
    held,
    heldUnits: held.reduce((sum, { units }) => sum + units, 0n),
    owed,
    owedUnits: owed.reduce((sum, { units }) => sum + units, 0n),
  }
}

async function heldOf(client: Client, chain: ReserveChain, coinUsdUnits: number) {
  const { client: node, assets, holders } = chain
  const block = await scannedBlock(client, chain)
  const later = await movedSince(client, holders[0].address, block)
  const [blockHash, chainId] = await Promise.all([hashOf(node, block), readChain(() => node.getChainId())])
  if (chainId !== chain.chainId) throw chainUnavailable(new Error(`the node is of chain ${chainId}`))
  const held = await readHeld({ chain: node, assets, holders, coinUsdUnits, block }, later)
  // Balances are read by the number of the block: during a reorganization they may be of several blocks.
  if ((await hashOf(node, block)) !== blockHash) throw chainUnavailable(new Error(`block ${block} was replaced`))
  return { held, at: { of: chain, block, blockHash } }
}

/** The hash of the block that the chain has at a height now. @throws GatewayError chain_unavailable, also where it has none */
export async function hashOf(node: ChainClient, block: number): Promise<Hash> {
  return (await readChain(() => node.getBlock({ blockNumber: BigInt(block) }))).hash
}

/** The last block that the book has read. */
async function scannedBlock(db: Queryable, { chainId, holders }: ReserveChain): Promise<number> {
  const found = await db.query<{ block: number }>(
    'SELECT scanned_block AS block FROM chain_identity WHERE chain_id = $1 AND treasury = $2',
    [chainId, holders[0].address],
  )
  const [row] = found.rows
  if (row === undefined) throw chainUnavailable(new Error('the book is not bound to the chain yet'))
  return row.block
}

function owedWorth({ currency, amount }: Owed, coinUsdUnits: number): bigint {
  if (currency === 'usd') return amount
  const nanos = BigInt(NANOS_PER_COIN)
  return (amount * BigInt(coinUsdUnits) + nanos - 1n) / nanos
}

/** Whether at least as much is held as is owed; undefined where the gateway has no chain to hold anything on. */
export function isCovered({ chain, heldUnits, owedUnits }: ReserveReading): boolean | undefined {
  return chain === undefined ? undefined : heldUnits >= owedUnits
}
