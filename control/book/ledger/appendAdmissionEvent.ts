import { intArray, textArray } from '../../runtime/db/arrays.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'

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
  locking(client, 'accounts', () => accountIds)
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
  await appendAdmissionEvents(client, [change])
}

/** As `appendAdmissionEvent`, for many accounts, each of them once, in one statement. @throws Error when one was never opened */
export async function appendAdmissionEvents(client: Client, changes: readonly AdmissionChange[]): Promise<void> {
  const rows = changes.map(({ accountId, coinDelta, grant, debitId }) => ({
    account_id: accountId,
    coin_delta: coinDelta,
    grant_id: grant?.id ?? null,
    expires_at_ms: grant?.expiresAtMs ?? null,
    units: grant?.units ?? null,
    debit_id: debitId ?? null,
  }))
  locking(client, 'accounts', () => changes.map(({ accountId }) => accountId))
  const appended = await client.query(
    `WITH change AS (
       SELECT * FROM jsonb_to_recordset($1) AS c
         (account_id text, coin_delta bigint, grant_id text, expires_at_ms bigint, units bigint, debit_id text)
     ), next AS (
       UPDATE admission_accounts a SET seq = a.seq + 1 FROM change WHERE a.account_id = change.account_id
       RETURNING a.account_id, a.seq
     )
     INSERT INTO admission_events (account_id, seq, coin_delta, grant_id, grant_expires_at_ms, grant_units, debit_id)
     SELECT account_id, seq, coin_delta, grant_id, expires_at_ms, units, debit_id FROM change JOIN next USING (account_id)`,
    [JSON.stringify(rows)],
  )
  if (appended.rowCount === changes.length) return
  throw new Error(
    `of the accounts ${changes.map(({ accountId }) => accountId).join(', ')} one is not open in the ledger`,
  )
}

/** Takes events that admission has applied out of the outbox. */
export async function removeAdmissionEvents(
  db: Queryable,
  applied: ReadonlyArray<{ readonly accountId: string; readonly seq: number }>,
): Promise<void> {
  await db.query(
    `DELETE FROM admission_events e USING unnest($1::text[], $2::bigint[]) AS done (account_id, seq)
     WHERE e.account_id = done.account_id AND e.seq = done.seq`,
    [textArray(applied.map((event) => event.accountId)), intArray(applied.map((event) => event.seq))],
  )
}
