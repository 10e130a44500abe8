import type { Hex } from 'viem'
import type { Address } from '../../contract/payments/address.ts'
import { type Client, type Pool, withTransaction } from '../runtime/db/pool.ts'
import type { ChainClient } from './chainClient.ts'
import type { FeeOracle } from './fees.ts'
import type { ChainLimits } from './limits.ts'
import { type Purpose, storeTransaction } from './outbox.ts'
import type { Signer } from './signer.ts'
import { estimateGas } from './simulation.ts'
import type { TransactionWatcher } from './watcher.ts'

export interface CallParts {
  readonly pool: Pool
  readonly chain: ChainClient
  readonly chainId: number
  /** Sends the call and pays its gas. */
  readonly sender: Signer
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
  readonly limits: ChainLimits
}

/**
 * Sends a call that moves no tokens of the treasury, by a transaction that is stored first.
 * @param ref of the transaction; of two controls that send the same one, the second fails
 * @param claim runs in the database transaction that stores it; nothing is sent when it throws
 * @returns false when the contract refuses the call; nothing was stored then
 * @throws GatewayError chain_unavailable; the database error 23505 for a ref that is stored already
 */
export async function sendCall(
  { pool, chain, chainId, sender, fees, watcher, limits }: CallParts,
  purpose: Purpose,
  ref: string,
  call: { readonly to: Address; readonly data: Hex },
  claim?: (client: Client) => Promise<void>,
): Promise<boolean> {
  const gas = await estimateGas(chain, sender.address, call, limits)
  if (gas === undefined) return false
  const current = await fees.current()
  const stored = await withTransaction(pool, async (client) => {
    await claim?.(client)
    return storeTransaction(client, sender, { purpose, ref, chainId, ...call, gas, fees: current })
  })
  await watcher.send(stored, 0)
  return true
}
