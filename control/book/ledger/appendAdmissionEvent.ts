import { textArray } from '../../runtime/db/arrays.ts'
import type { Client } from '../../runtime/db/pool.ts'

/** A change of the book that admission has to know: coin, and perhaps a new grant. */
export interface AdmissionChange {
  readonly accountId: string
  /** Nanos of coin; of a payer of single requests units, in which its account is kept. */
  readonly coinDelta: number
  readonly grant?: { id: string; expiresAtMs: number; units: number }
  /** The debit that has taken the coin in Redis already. */
  readonly debitId?: string
}

/**
 * Locks accounts against other events until the end of the transaction. Every transaction that moves coin between
 * accounts does this first, before it locks anything else of them, so that two never wait for each other in a circle.
 */
export async function lockAccounts(client: Client, accountIds: readonly string[]): Promise<void> {
  await client.query(
    'SELECT 1 FROM admission_accounts WHERE account_id = ANY ($1::text[]) ORDER BY account_id FOR NO KEY UPDATE',
    [textArray(accountIds)],
  )
}

/**
 * Writes the next event of an account into the outbox, inside the transaction that posts the change.
 * Locks the account's row, so that events get their numbers in the order of commit.
 * @throws Error when the account was never opened
 */
export async function appendAdmissionEvent(client: Client, change: AdmissionChange): Promise<void> {
  const next = await client.query<{ seq: number }>(
    'UPDATE admission_accounts SET seq = seq + 1 WHERE account_id = $1 RETURNING seq',
    [change.accountId],
  )
  const seq = next.rows[0]?.seq
  if (seq === undefined) throw new Error(`account ${change.accountId} is not open in the ledger`)
  const grant = change.grant
  await client.query(
    `INSERT INTO admission_events (account_id, seq, coin_delta, grant_id, grant_expires_at_ms, grant_units, debit_id)
     VALUES ($1, $2, $3, $4, $5, $6, $7)`,
    [
      change.accountId,
      seq,
      change.coinDelta,
      grant?.id ?? null,
      grant?.expiresAtMs ?? null,
      grant?.units ?? null,
      change.debitId ?? null,
    ],
  )
}
