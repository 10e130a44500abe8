import { type Client, type Pool, withTransaction } from '../runtime/db/pool.ts'
import type { ChainClient } from './chainClient.ts'
import type { FeeOracle } from './fees.ts'
import type { ChainLimits } from './limits.ts'
import { type ExpectedTransfer, isPaused, type Purpose, storeTransaction } from './outbox.ts'
import { transferCall } from './settlementCall.ts'
import type { Signer } from './signer.ts'
import { estimateGas } from './simulation.ts'
import type { TransactionWatcher } from './watcher.ts'

export interface TreasuryParts {
  readonly pool: Pool
  readonly chain: ChainClient
  readonly chainId: number
  readonly treasury: Signer
  readonly fees: FeeOracle
  readonly watcher: TransactionWatcher
  readonly limits: ChainLimits
}

/** Tokens that leave the treasury. */
export interface TreasuryTransfer extends Omit<ExpectedTransfer, 'from'> {
  readonly purpose: Purpose
}

/**
 * Sends tokens of the treasury by a separate transaction.
 * @param claim books their purpose, in the database transaction that stores the one for the chain. It returns the ref of the
 *   latter, or undefined when nothing has to be sent any more
 * @returns false when the token refuses the transfer; nothing was claimed then. True also while a stuck transaction pauses the
 *   treasury: what is due stays due
 * @throws GatewayError chain_unavailable
 */
export async function sendFromTreasury(
  parts: TreasuryParts,
  { purpose, token, to, amount }: TreasuryTransfer,
  claim: (client: Client) => Promise<string | undefined>,
): Promise<boolean> {
  const { pool, chain, chainId, treasury, watcher } = parts
  if (await isPaused(pool, treasury.address)) return true
  const call = transferCall(token, to, amount)
  const gas = await estimateGas(chain, treasury.address, call, parts.limits)
  if (gas === undefined) return false
  const fees = await parts.fees.current()
  const stored = await withTransaction(pool, async (client) => {
    const ref = await claim(client)
    if (ref === undefined) return undefined
    const transfer = { token, from: treasury.address, to, amount }
    return storeTransaction(client, treasury, { purpose, ref, chainId, ...call, gas, fees, transfer })
  })
  if (stored !== undefined) await watcher.send(stored, 0)
  return true
}
