import type { Queryable } from '../../runtime/db/pool.ts'
import { type ApiKey, COLUMNS } from './keyRow.ts'
import { withinPlatform } from './withinPlatform.ts'

/** A key as it may be used now. */
export interface KeyInForce extends ApiKey {
  /** The platform key of a sub-key, whose caps bind it as well; null for all others. */
  readonly platform: ApiKey | null
}

/** The key with this hash, as in `hashSecret`; undefined when none was made, or it was revoked or has expired. */
export async function keyInForce(db: Queryable, keyHash: string): Promise<KeyInForce | undefined> {
  const found = await db.query<ApiKey>({
    name: 'resolve_key',
    text: `SELECT ${COLUMNS} FROM api_keys
           WHERE hash = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    values: [keyHash],
  })
  const key = found.rows[0]
  if (key === undefined) return undefined
  if (key.platformKeyId === null) return { ...key, platform: null }
  const platform = await platformInForce(db, key.platformKeyId)
  return platform && { ...withinPlatform(key, platform), platform }
}

/** A sub-key is in force as long as its platform key is. */
async function platformInForce(db: Queryable, platformKeyId: string): Promise<ApiKey | undefined> {
  const found = await db.query<ApiKey>({
    name: 'platform_key',
    text: `SELECT ${COLUMNS} FROM api_keys
           WHERE id = $1 AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`,
    values: [platformKeyId],
  })
  return found.rows[0]
}
