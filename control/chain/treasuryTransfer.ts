import type { Client } from '../runtime/db/pool.ts'
import { type SenderParts, sendClaimed } from './contractCall.ts'
import { type ExpectedTransfer, isPaused, type Purpose } from './outbox.ts'
import { transferCall } from './settlementCall.ts'
import type { Signer } from './signer.ts'

export interface TreasuryParts extends SenderParts {
  readonly treasury: Signer
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
  const { pool, treasury: sender } = parts
  if (await isPaused(pool, sender.address)) return true
  return sendClaimed({ ...parts, sender }, transferCall(token, to, amount), async (client) => {
    const ref = await claim(client)
    return ref === undefined ? undefined : { purpose, ref, transfer: { token, from: sender.address, to, amount } }
  })
}
