import { GatewayError, invalidRequest } from '../../../contract/errors/errors.ts'
import { bySpan } from '../../../contract/money/windows.ts'
import { type Actor, recordActivity } from '../../runtime/activity/activity.ts'
import { countOf } from '../../runtime/db/count.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client, Queryable } from '../../runtime/db/pool.ts'
import { type ApiKey, COLUMNS } from '../keys/keyRow.ts'
import { createKey, type KeySettings, revokeKey } from '../keys/keys.ts'
import { settingsJson } from '../keys/settingsJson.ts'

/**
 * Makes a sub-key, inside the caller's transaction.
 * @param settings as `withinBounds` has let them pass
 */
export async function makeSubKey(
  client: Client,
  actor: Actor,
  platform: ApiKey,
  user: string,
  settings: KeySettings,
): Promise<{ key: ApiKey; secret: string }> {
  const made = await createKey(client, platform.accountId, settings)
  await client.query('UPDATE api_keys SET platform_key_id = $2, platform_user = $3 WHERE id = $1', [
    made.key.id,
    platform.id,
    user,
  ])
  const details = { platform_key: platform.id, user, last4: made.key.last4, ...settingsJson(settings) }
  const change = { accountId: platform.accountId, type: 'sub_key.created', target: made.key.id, details }
  await recordActivity(client, actor, [change])
  return { key: { ...made.key, platformKeyId: platform.id, platformUser: user }, secret: made.secret }
}

/** The refusal of a key that a platform does not have; it reads its own list, which its credential opens. */
export const noSubKey = (): GatewayError =>
  new GatewayError('key_not_found', { message: 'The platform has no sub-key with this id; see /v1/platform/keys.' })

/**
 * Revokes a sub-key; revoking it again changes nothing.
 * @throws GatewayError key_not_found when there is no such key; permission_denied when it is not the platform's
 */
export async function endSubKey(client: Client, actor: Actor, platformKeyId: string, keyId: string): Promise<ApiKey> {
  const key = await lockSubKey(client, platformKeyId, keyId)
  if (key.revokedAtMs !== null) return key
  const change = { accountId: key.accountId, type: 'sub_key.revoked', target: key.id }
  await recordActivity(client, actor, [change])
  return revokeKey(client, key.id)
}

/**
 * A sub-key of this platform key, with its row locked.
 * @throws GatewayError key_not_found when there is no such key; permission_denied when it is not the platform's
 */
export async function lockSubKey(client: Client, platformKeyId: string, keyId: string): Promise<ApiKey> {
  locking(client, 'keys', () => [keyId])
  const found = await client.query<ApiKey>(`SELECT ${COLUMNS} FROM api_keys WHERE id = $1 FOR UPDATE`, [keyId])
  const key = found.rows[0]
  if (key === undefined) throw noSubKey()
  if (key.platformKeyId !== platformKeyId) throw new GatewayError('permission_denied')
  return key
}

/** The sub-keys of a platform key that are not revoked, newest first. @param user only of this one, when not '' */
export async function pageOfSubKeys(
  db: Queryable,
  platformKeyId: string,
  user: string,
  limit: number,
  after: string,
): Promise<ApiKey[]> {
  const found = await db.query<ApiKey>(
    `SELECT ${COLUMNS} FROM api_keys WHERE platform_key_id = $1 AND revoked_at IS NULL
       AND ($2 = '' OR platform_user = $2) AND ($3 = '' OR id < $3) ORDER BY id DESC LIMIT $4`,
    [platformKeyId, user, after, limit],
  )
  return found.rows
}

export async function countSubKeys(db: Queryable, platformKeyId: string): Promise<number> {
  return countOf(db, 'SELECT count(*) FROM api_keys WHERE platform_key_id = $1 AND revoked_at IS NULL', [platformKeyId])
}

/**
 * The settings of a sub-key, which may not exceed those of its platform key; absent settings are inherited.
 * @throws GatewayError invalid_request with the field that exceeds them
 */
export function withinBounds(platform: ApiKey, asked: KeySettings): KeySettings {
  return {
    ...asked,
    caps: bySpan((span) => {
      return capOf(platform.caps[span], asked.caps?.[span], span === 'life' ? 'budget' : `caps.${span}`)
    }),
    models: listOf(platform.models, asked.models, 'models'),
    tools: listOf(platform.tools, asked.tools, 'tools'),
    noLogs: strict(platform.noLogs, asked.noLogs, 'no_logs'),
    privateTier: strict(platform.privateTier, asked.privateTier, 'private_tier'),
    allowRetention: retentionOf(platform.allowRetention, asked.allowRetention),
    // A sub-key is its user's, and the account's coin is not.
    canTransfer: false,
    requestsPerMinute: rateOf(platform.requestsPerMinute, asked.requestsPerMinute, 'requests_per_minute'),
    tokensPerMinute: rateOf(platform.tokensPerMinute, asked.tokensPerMinute, 'tokens_per_minute'),
    parallel: rateOf(platform.parallel, asked.parallel, 'parallel'),
    expiresAtMs: capOf(platform.expiresAtMs, asked.expiresAtMs, 'expires_at'),
  }
}

const tooMuch = (field: string) => invalidRequest(`${field} must be within that of the platform key.`, field)

function capOf(bound: number | null, asked: number | null | undefined, field: string): number | null {
  if (asked === undefined || asked === null) return bound
  if (bound !== null && asked > bound) throw tooMuch(field)
  return asked
}

function listOf(bound: readonly string[], asked: readonly string[] | undefined, field: string): readonly string[] {
  if (asked === undefined || asked.length === 0) return bound
  const wrong = bound.length === 0 ? -1 : asked.findIndex((id) => !bound.includes(id))
  if (wrong >= 0) throw tooMuch(`${field}[${wrong}]`)
  return asked
}

/** A flag that a sub-key can set but not clear. */
function strict(bound: boolean, asked: boolean | undefined, field: string): boolean {
  if (bound && asked === false) throw tooMuch(field)
  return bound || asked === true
}

function retentionOf(bound: boolean | null, asked: boolean | null | undefined): boolean | null {
  if (bound !== true && asked === true) throw tooMuch('allow_retention')
  return asked ?? bound
}

/** Zero is the gateway's own rate, or no limit. */
function rateOf(bound: number, asked: number | undefined, field: string): number {
  if (asked === undefined || asked === 0) return bound
  if (bound !== 0 && asked > bound) throw tooMuch(field)
  return asked
}
