import { hashSecret, newSecret } from '../../../contract/wire/ids.ts'
import { type Actor, recordActivity } from '../../runtime/activity/activity.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { IdentityLimits } from '../limits.ts'

/**
 * Makes a one-time code by which a wallet that has signed in is linked to an account.
 * @returns the code, which is shown here and never again, and when it ends
 */
export async function newLinkCode(
  client: Client,
  actor: Actor,
  accountId: string,
  limits: IdentityLimits,
): Promise<{ code: string; expiresAtMs: number }> {
  const code = newSecret('lc')
  const expiresAtMs = Date.now() + limits.linkCodeLifetimeMs
  await client.query('INSERT INTO link_codes (hash, account_id, expires_at) VALUES ($1, $2, $3)', [
    hashSecret(code),
    accountId,
    new Date(expiresAtMs),
  ])
  await recordActivity(client, actor, [{ accountId, type: 'link_code.created', target: accountId }])
  return { code, expiresAtMs }
}

/** Uses up a code, inside the caller's transaction. @returns its account, or undefined for an unknown or expired code */
export async function takeLinkCode(client: Client, code: string): Promise<string | undefined> {
  const taken = await client.query<{ account_id: string }>(
    'DELETE FROM link_codes WHERE hash = $1 AND expires_at > now() RETURNING account_id',
    [hashSecret(code)],
  )
  return taken.rows[0]?.account_id
}
