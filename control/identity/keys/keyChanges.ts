import { type Actor, recordActivity } from '../../runtime/activity/activity.ts'
import { locking } from '../../runtime/db/lockOrder.ts'
import type { Client } from '../../runtime/db/pool.ts'
import type { ApiKey } from './keyRow.ts'
import { createKey, type KeySettings, revokeKey, updateKey } from './keys.ts'
import { settingsJson } from './settingsJson.ts'

/**
 * Changes of keys with their entries in the audit trail, inside the caller's transaction. After the commit the caller notifies
 * the proxies with `announceKeyChanges`; not of a new key, whose random secret cannot have been used before.
 */
export async function makeKey(
  client: Client,
  actor: Actor,
  accountId: string,
  settings: KeySettings,
): Promise<{ key: ApiKey; secret: string }> {
  const made = await createKey(client, accountId, settings)
  const details = { last4: made.key.last4, ...settingsJson(settings) }
  await recordActivity(client, actor, [{ accountId, type: 'key.created', target: made.key.id, details }])
  return made
}

/** @throws UnknownKeyError also for a revoked key */
export async function changeKey(client: Client, actor: Actor, keyId: string, settings: KeySettings): Promise<ApiKey> {
  const key = await updateKey(client, keyId, settings)
  const change = { accountId: key.accountId, type: 'key.updated', target: key.id, details: settingsJson(settings) }
  await recordActivity(client, actor, [change])
  return key
}

/** Revokes a key permanently. Idempotent: a repeat changes nothing and is not recorded again. @throws UnknownKeyError */
export async function endKey(client: Client, actor: Actor, keyId: string): Promise<ApiKey> {
  locking(client, 'keys', () => [keyId])
  const isOpen = await client.query('SELECT 1 FROM api_keys WHERE id = $1 AND revoked_at IS NULL FOR UPDATE', [keyId])
  const key = await revokeKey(client, keyId)
  if (isOpen.rowCount === 1) {
    await recordActivity(client, actor, [{ accountId: key.accountId, type: 'key.revoked', target: key.id }])
  }
  return key
}
