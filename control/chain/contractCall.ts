import { type Client, type Pool, withTransaction } from '../runtime/db/pool.ts'
import type { ChainClient } from './chainClient.ts'
import type { FeeOracle } from './fees.ts'
import type { ChainLimits } from './limits.ts'
import { type Order, type Purpose, storeTransaction } from './outbox.ts'
import type { Signer } from './signer.ts'
import { estimateGas } from './simulation.ts'
import type { TransactionWatcher } from './watcher.ts'

/** The parts that every sender of transactions has. */
export interface SenderParts {
  readonly pool: Pool
  readonly chain: ChainClient
  readonly chainId: number
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
  readonly limits: ChainLimits
}

export interface CallParts extends SenderParts {
  /** Sends the call and pays its gas. */
  readonly sender: Signer
}

type Call = Pick<Order, 'to' | 'data'>

/**
 * Sends a call that moves no tokens of the treasury, by a transaction that is stored first.
 * @param ref of the transaction; of two controls that send the same one, the second fails
 * @param claim runs in the database transaction that stores it; nothing is sent when it throws
 * @returns false when the contract refuses the call; nothing was stored then
 * @throws GatewayError chain_unavailable; the database error 23505 for a ref that is stored already
 */
export function sendCall(
  parts: CallParts,
  purpose: Purpose,
  ref: string,
  call: Call,
  claim?: (client: Client) => Promise<void>,
): Promise<boolean> {
  return sendClaimed(parts, call, async (client) => {
    await claim?.(client)
    return { purpose, ref }
  })
}

/**
 * Sends a call by a transaction that is stored first.
 * @param claim runs in the database transaction that stores it. It returns what the one for the chain is for, or undefined when
 *   nothing has to be sent any more
 * @returns false when the contract refuses the call; nothing was claimed then
 * @throws GatewayError chain_unavailable
 */
export async function sendClaimed(
  { pool, chain, chainId, sender, fees: oracle, watcher, limits }: CallParts,
  call: Call,
  claim: (client: Client) => Promise<Pick<Order, 'purpose' | 'ref' | 'transfer'> | undefined>,
): Promise<boolean> {
  const gas = await estimateGas(chain, sender.address, call, limits)
  if (gas === undefined) return false
  const fees = await oracle.current()
  const stored = await withTransaction(pool, async (client) => {
    const claimed = await claim(client)
    return claimed && storeTransaction(client, sender, { ...claimed, chainId, ...call, gas, fees })
  })
  if (stored !== undefined) await watcher.send(stored, 0)
  return true
}
