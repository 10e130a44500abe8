import { GatewayError } from '../contract/errors.ts'
import type { sluice } from '../contract/generated/messages.js'
import { shardOf } from '../contract/redisKeys.ts'
import type { Queryable } from '../db/pool.ts'
import { asApiKey, COLUMNS, type KeyRow } from './keyRow.ts'

/**
 * What a proxy may know of the key with this hash. A paused key resolves: the proxy says that it is paused.
 * @param keyHash as in `hashSecret`
 * @throws GatewayError invalid_api_key when no such key was made, or it was revoked or has expired
 */
export async function resolveKey(db: Queryable, keyHash: string): Promise<sluice.KeyRecord.$Properties> {
  const found = await db.query<KeyRow>({
    name: 'resolve_key',
    text: `SELECT ${COLUMNS} FROM api_keys
           WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    values: [keyHash],
  })
  const [row] = found.rows
  if (row === undefined) throw new GatewayError('invalid_api_key')
  const key = asApiKey(row)
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
    noLogs: key.noLogs,
    privateTier: key.privateTier,
    allowRetention: key.allowRetention,
    requestsPerMinute: key.requestsPerMinute,
    expiresAtMs: key.expiresAtMs ?? 0,
  }
}
