import { hashSecret, newId, newSecret } from '../../../contract/wire/ids.ts'
import { type Actor, recordActivity } from '../../runtime/activity/activity.ts'
import { camelColumns, msColumns } from '../../runtime/db/columns.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'

/** A session that is in force. */
export interface Session {
  readonly id: string
  /** The wallet that signed in, lower case. */
  readonly address: string
  /** The account that the wallet is linked to; empty for none. */
  readonly accountId: string
  readonly createdAtMs: number
  readonly expiresAtMs: number
}

const SESSIONS = `
  SELECT ${camelColumns('s.id, s.address')}, coalesce(w.account_id, '') AS "accountId", ${msColumns('s.created_at, s.expires_at')}
  FROM sessions s LEFT JOIN wallets w ON w.address = s.address WHERE s.expires_at > now()`

/**
 * Begins a session of a wallet, inside the caller's transaction. With more than limits.sessionsPerWalletMax of them, the
 * oldest ends.
 * @returns the session, and its secret, which is shown here and never again
 */
export async function beginSession(
  client: Client,
  actor: Actor,
  address: string,
  limits: IdentityLimits,
): Promise<{ session: Session; secret: string }> {
  const secret = newSecret('ses')
  const id = newId('sid')
  await client.query(
    `INSERT INTO sessions (id, hash, address, expires_at) VALUES ($1, $2, $3, now() + make_interval(secs => $4))`,
    [id, hashSecret(secret), address, limits.sessionLifetimeMs / 1_000],
  )
  await client.query(
    `DELETE FROM sessions WHERE id IN
       (SELECT id FROM sessions WHERE address = $1 ORDER BY id DESC OFFSET $2)`,
    [address, limits.sessionsPerWalletMax],
  )
  const found = await client.query<Session>(`${SESSIONS} AND s.id = $1`, [id])
  const [session] = found.rows
  if (session === undefined) throw new Error('a session ended as it began; limits.sessionLifetimeMs is too short')
  await note(client, actor, session.accountId, 'session.created', id)
  return { session, secret }
}

/** The session with this hash, as in `hashSecret`; undefined when it is unknown, ended or expired. */
export async function sessionOf(db: Queryable, hash: string): Promise<Session | undefined> {
  const found = await db.query<Session>({
    name: 'session_of',
    text: `${SESSIONS} AND s.hash = $1`,
    values: [hash],
  })
  return found.rows[0]
}

/** The sessions of an account that are in force, newest first. */
export async function listSessions(db: Queryable, accountId: string): Promise<Session[]> {
  const found = await db.query<Session>(`${SESSIONS} AND w.account_id = $1 ORDER BY s.id DESC`, [accountId])
  return found.rows
}

/** Ends a session, inside the caller's transaction. @returns false for an unknown id */
export async function endSession(client: Client, actor: Actor, sessionId: string): Promise<boolean> {
  const found = await client.query<Session>(`${SESSIONS} AND s.id = $1`, [sessionId])
  const ended = await client.query('DELETE FROM sessions WHERE id = $1', [sessionId])
  if (ended.rowCount === 0) return false
  await note(client, actor, found.rows[0]?.accountId ?? '', 'session.ended', sessionId)
  return true
}

/** Anyone may sign in with any number of new wallets, so only activity of accounts is stored. */
async function note(client: Client, actor: Actor, accountId: string, type: string, target: string): Promise<void> {
  if (accountId !== '') await recordActivity(client, actor, [{ accountId, type, target }])
}
