import { GatewayError, invalidRequest } from '../../../../contract/errors/errors.ts'
import { clientNetwork } from '../../../../contract/net/ipAddress.ts'
import { isId, newId } from '../../../../contract/wire/ids.ts'
import { LOG_COUNT } from '../../../book/usagelog/head.ts'
import type { CoinAmount } from '../../../catalog/pricing/coinAmounts.ts'
import { type Actor, recordActivity } from '../../../runtime/activity/activity.ts'
import { camelColumns, msColumns } from '../../../runtime/db/columns.ts'
import { locking } from '../../../runtime/db/lockOrder.ts'
import { lockTextUntilCommit } from '../../../runtime/db/locks.ts'
import type { Client, Queryable } from '../../../runtime/db/pool.ts'
import type { TransfersLimits } from '../limits.ts'
import { accountOfCode } from './codes.ts'

export interface Referral {
  readonly id: string
  /** The referred account. */
  readonly accountId: string
  readonly referrerId: string
  readonly earnedUnits: number
  /** The coin that was paid for it, in integers of 1e-9 coin. */
  readonly earnedNanos: number
  readonly attachedAtMs: number
}

const COLUMNS = `${camelColumns('id, account_id, referrer_id, earned_units, earned_nanos')}, ${msColumns('attached_at')}`

/**
 * Attaches an account to the owner of the code, permanently, inside the caller's transaction. Charges booked from now on
 * count.
 * @throws GatewayError already_referred; code_not_found; invalid_request for the account's own code, for that of an
 *   account that it referred, and for an agent; attach_velocity when too many accounts were attached from the client's
 *   network
 */
export async function attachReferrer(
  client: Client,
  actor: Actor,
  accountId: string,
  code: string,
  limits: TransfersLimits,
): Promise<Referral> {
  if (isId('agt', accountId)) throw invalidRequest('An agent has no referrer; its owner has.')
  // Waits for processes that are counting receipts: their receipts then lie before the positions that are read below.
  locking(client, 'cursors', () => ['referral_cursors'])
  await client.query('SELECT 1 FROM referral_cursors ORDER BY log FOR SHARE')
  const referrerId = await accountOfCode(client, code)
  if ((await referralOf(client, accountId)) !== undefined) throw new GatewayError('already_referred')
  if (referrerId === undefined) throw new GatewayError('code_not_found', { param: 'code' })
  if (referrerId === accountId) throw invalidRequest('code must be the code of another account.', 'code')
  await refuseExchange(client, accountId, referrerId)
  const network = clientNetwork(actor.clientAddress ?? '')
  if (network !== '') await refuseTooMany(client, network, limits)
  const made = await client.query<Referral>(
    `INSERT INTO referrals (id, account_id, referrer_id, from_positions, network)
     SELECT $1, $2, $3, array_agg(size ORDER BY log), $4 FROM usage_log_heads WHERE log < ${LOG_COUNT}
     ON CONFLICT (account_id) DO NOTHING RETURNING ${COLUMNS}`,
    [newId('rfl'), accountId, referrerId, network],
  )
  const [row] = made.rows
  if (row === undefined) throw new GatewayError('already_referred')
  await recordActivity(client, actor, [{ accountId, type: 'referral.attached', target: row.id, details: {} }])
  const { kind } = actor
  const gained = { accountId: referrerId, type: 'referral.gained', target: row.id, details: {} }
  // The referrer must not learn the wallet or its network address.
  await recordActivity(client, { kind: kind === 'operator' ? kind : 'gateway', id: '' }, [gained])
  return row
}

/** Two accounts that refer each other would both be paid for their own spending; the locks serialize their attachments. */
async function refuseExchange(client: Client, accountId: string, referrerId: string): Promise<void> {
  const both = [accountId, referrerId]
  locking(client, 'accountRows', () => both)
  await client.query('SELECT 1 FROM accounts WHERE id = ANY ($1) ORDER BY id FOR NO KEY UPDATE', [both])
  if ((await referralOf(client, referrerId))?.referrerId !== accountId) return
  throw invalidRequest('code must be the code of an account that yours has not brought itself.', 'code')
}

/** The lock serializes concurrent attachments from one network, until the end of the transaction. */
async function refuseTooMany(client: Client, network: string, limits: TransfersLimits): Promise<void> {
  await lockTextUntilCommit(client, 'referralNetworks', `referral ${network}`)
  const windowSeconds = limits.referralAttachWindowMs / 1_000
  const found = await client.query<{ count: number; wait_seconds: number | null }>(
    `SELECT count(*), ceil(extract(epoch FROM min(attached_at) - now()) + $2)::integer AS wait_seconds
     FROM referrals WHERE network = $1 AND attached_at > now() - make_interval(secs => $2)`,
    [network, windowSeconds],
  )
  const [row] = found.rows
  if ((row?.count ?? 0) < limits.referralAttachesMax) return
  throw new GatewayError('attach_velocity', { retryAfterSeconds: Math.max(1, row?.wait_seconds ?? 1) })
}

/** The referral by which an account was brought, or undefined. */
export async function referralOf(db: Queryable, accountId: string): Promise<Referral | undefined> {
  const found = await db.query<Referral>(`SELECT ${COLUMNS} FROM referrals WHERE account_id = $1`, [accountId])
  return found.rows[0]
}

/** The accounts that an account referred, newest first. @param after the id of the referral to continue after, or '' */
export async function pageOfReferrals(
  db: Queryable,
  referrerId: string,
  limit: number,
  after: string,
): Promise<Referral[]> {
  const found = await db.query<Referral>(
    `SELECT ${COLUMNS} FROM referrals WHERE referrer_id = $1 AND ($2 = '' OR id < $2) ORDER BY id DESC LIMIT $3`,
    [referrerId, after, limit],
  )
  return found.rows
}

/** The number of accounts that an account referred, and its earnings from them. */
export async function referralTotals(db: Queryable, referrerId: string): Promise<CoinAmount & { count: number }> {
  const found = await db.query<CoinAmount & { count: number }>(
    `SELECT count(*), coalesce(sum(earned_units), 0) AS units, coalesce(sum(earned_nanos), 0) AS nanos
     FROM referrals WHERE referrer_id = $1`,
    [referrerId],
  )
  return found.rows[0] ?? { count: 0, units: 0, nanos: 0 }
}
