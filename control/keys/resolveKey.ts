import { settingsOf } from '../accounts/settings.ts'
import { GatewayError } from '../contract/errors.ts'
import type { sluice } from '../contract/generated/messages.js'
import { shardOf } from '../contract/redisKeys.ts'
import { isDatabaseDown } from '../db/isDatabaseDown.ts'
import type { Queryable } from '../db/pool.ts'
import { type ApiKey, asApiKey, COLUMNS, type KeyRow } from './keyRow.ts'

/** The key with this hash, as in `hashSecret`; undefined when none was made, or it was revoked or has expired. */
export async function keyInForce(db: Queryable, keyHash: string): Promise<ApiKey | undefined> {
  const found = await db.query<KeyRow>({
    name: 'resolve_key',
    text: `SELECT ${COLUMNS} FROM api_keys
           WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    values: [keyHash],
  })
  return found.rows[0] && asApiKey(found.rows[0])
}

/**
 * What a proxy may know of the key with this hash. A paused key resolves: the proxy says that it is paused. A record
 * whose account settings cannot be read says so, and the proxy runs nothing by it.
 * @throws GatewayError invalid_api_key when there is no such key in force
 */
export async function resolveKey(db: Queryable, keyHash: string): Promise<sluice.KeyRecord.$Properties> {
  const key = await keyInForce(db, keyHash)
  if (key === undefined) throw new GatewayError('invalid_api_key')
  const settings = await settingsOf(db, key.accountId).catch((error: unknown) => {
    if (isDatabaseDown(error)) throw error
    return undefined
  })
  return {
    keyId: key.id,
    accountId: key.accountId,
    shard: shardOf(key.accountId),
    paused: key.paused,
    capHourUnits: key.capHourUnits,
    capDayUnits: key.capDayUnits,
    capMonthUnits: key.capMonthUnits,
    budgetUnits: key.budgetUnits,
    models: [...key.models],
    tools: [...key.tools],
    noLogs: key.noLogs,
    privateTier: key.privateTier,
    allowRetention: key.allowRetention || settings?.allowRetention === true,
    requestsPerMinute: key.requestsPerMinute,
    expiresAtMs: key.expiresAtMs ?? 0,
    privacyKnown: true,
    settingsKnown: settings !== undefined,
    retentionDefault: key.allowRetention || settings?.allowRetention,
  }
}
