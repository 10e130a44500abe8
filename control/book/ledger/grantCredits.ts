import { formatUsd } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { countOf } from '../../runtime/db/count.ts'
import { locking, making } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { BookLimits } from '../limits.ts'
import { grantAccount, HOUSE } from './accounts.ts'
import { appendAdmissionEvent } from './appendAdmissionEvent.ts'
import { postTransfers } from './postTransfers.ts'
import { ReusedRefError } from './reusedRefError.ts'

export interface CreditGrant {
  readonly accountId: string
  /** Positive. */
  readonly units: number
  /** Shown to the customer, such as 'welcome'. */
  readonly source: string
  readonly expiresAtMs: number
  /** Names the business event, so that it grants once to this account; a new id when absent. */
  readonly ref?: string
}

export interface GrantResult {
  readonly grantId: string
  /** False when the same event had granted before. */
  readonly granted: boolean
}

/** More open grants than an account may have. */
export class TooManyGrantsError extends Error {
  override name = 'TooManyGrantsError'
}

/** Grants with units left; the account's row is locked first, so that two concurrent grants cannot both pass. */
async function openGrants(client: Client, accountId: string): Promise<number> {
  locking(client, 'accounts', () => [accountId])
  await client.query('SELECT 1 FROM admission_accounts WHERE account_id = $1 FOR UPDATE', [accountId])
  return countOf(
    client,
    `SELECT count(*) FROM grants g JOIN ledger_accounts l ON l.id = 'grant:' || g.id
     WHERE g.account_id = $1 AND l.balance > 0`,
    [accountId],
  )
}

/**
 * Grants free credits to an account and notifies admission, inside the caller's transaction.
 * @throws TooManyGrantsError beyond limits.grantsPerAccountMax; ReusedRefError when the same event granted another amount
 *   to this account; Error when the account is unknown
 */
export async function grantCredits(client: Client, grant: CreditGrant, limits: BookLimits): Promise<GrantResult> {
  if (!Number.isSafeInteger(grant.units) || grant.units <= 0) {
    throw new RangeError(`a grant has to be a positive number of units, not ${grant.units}`)
  }
  if (!Number.isSafeInteger(grant.expiresAtMs)) throw new RangeError('expiresAtMs has to be milliseconds since 1970')
  const grantId = newId('grt')
  const ref = grant.ref ?? grantId
  const open = await openGrants(client, grant.accountId)
  const found = await client.query<{ id: string; units: number }>(
    'SELECT id, units FROM grants WHERE account_id = $1 AND ref = $2',
    [grant.accountId, ref],
  )
  const before = found.rows[0]
  if (before !== undefined && before.units !== grant.units) {
    const what = `${formatUsd(before.units)} USD of credits then, ${formatUsd(grant.units)} USD now`
    throw new ReusedRefError(ref, grant.accountId, what)
  }
  if (before !== undefined) return { grantId: before.id, granted: false }
  if (open >= limits.grantsPerAccountMax) {
    throw new TooManyGrantsError(`account ${grant.accountId} has ${open} grants with credits left, the most allowed`)
  }
  await client.query(
    'INSERT INTO grants (id, account_id, source, units, expires_at_ms, ref) VALUES ($1, $2, $3, $4, $5, $6)',
    [grantId, grant.accountId, grant.source, grant.units, grant.expiresAtMs, ref],
  )
  await client.query('INSERT INTO open_grants (grant_id, account_id, expires_at_ms) VALUES ($1, $2, $3)', [
    grantId,
    grant.accountId,
    grant.expiresAtMs,
  ])
  const account = grantAccount(grantId)
  await client.query(`INSERT INTO ledger_accounts (id, kind, owner) VALUES ($1, 'grant', $2)`, [
    account,
    grant.accountId,
  ])
  making(client, 'ledgerAccounts', () => [account])
  await postTransfers(client, [{ kind: 'grant', ref, debit: HOUSE, credit: account, units: grant.units }])
  await appendAdmissionEvent(client, {
    accountId: grant.accountId,
    coinDelta: 0,
    grant: { id: grantId, expiresAtMs: grant.expiresAtMs, units: grant.units },
  })
  return { grantId, granted: true }
}

/** Takes a grant of which nothing is left out of the list of those that are swept. */
export async function forgetGrant(db: Queryable, grantId: string, accountId: string): Promise<void> {
  await db.query('DELETE FROM open_grants WHERE grant_id = $1 AND account_id = $2', [grantId, accountId])
}
