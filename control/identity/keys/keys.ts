import { invalidRequest } from '../../../contract/errors/errors.ts'
import { SPANS, type Span, type SpendingCaps } from '../../../contract/money/windows.ts'
import { hashSecret, newId, newSecret } from '../../../contract/wire/ids.ts'
import type { Sheet } from '../../catalog/pricing/sheet.ts'
import { latestSheet } from '../../catalog/pricing/sheetStore.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import { type ApiKey, COLUMNS, capColumn } from './keyRow.ts'

/** The owner's settings of a key. Absent fields stay unchanged, and caps that are absent; null removes a cap. */
export interface KeySettings {
  readonly name?: string
  readonly paused?: boolean
  readonly caps?: Partial<SpendingCaps>
  /** Public model ids; empty allows every model. */
  readonly models?: readonly string[]
  /** Ids of priced tools; empty allows every tool. */
  readonly tools?: readonly string[]
  readonly noLogs?: boolean
  readonly privateTier?: boolean
  /** Traces may have the content of its requests; not on the private tier. */
  readonly captureContent?: boolean
  /** Null: the account's counts. */
  readonly allowRetention?: boolean | null
  readonly canTransfer?: boolean
  /** Zero leaves the gateway's own rate limit. */
  readonly requestsPerMinute?: number
  /** Zero is no limit. */
  readonly tokensPerMinute?: number
  readonly parallel?: number
  /** Milliseconds since 1970; null never expires. */
  readonly expiresAtMs?: number | null
  /** It may make sub-keys. */
  readonly isPlatform?: boolean
  /** As contract/money/tags.ts has them; '' for none. */
  readonly tags?: string
}

/** The key is unknown or revoked. */
export class UnknownKeyError extends Error {
  override readonly name = 'UnknownKeyError'

  constructor(keyId: string, reason = 'there is no key') {
    super(`${reason} ${keyId}`)
  }
}

const COLUMN_OF: Readonly<Record<Exclude<keyof KeySettings, 'caps'>, string>> = {
  name: 'name',
  paused: 'paused',
  models: 'models',
  tools: 'tools',
  noLogs: 'no_logs',
  privateTier: 'private_tier',
  captureContent: 'capture_content',
  allowRetention: 'allow_retention',
  canTransfer: 'can_transfer',
  requestsPerMinute: 'requests_per_minute',
  tokensPerMinute: 'tokens_per_minute',
  parallel: 'parallel',
  expiresAtMs: 'expires_at',
  isPlatform: 'is_platform',
  tags: 'tags',
}

/** Caps without the ones that are not given; undefined when none is. */
export function givenCaps(caps: Readonly<Record<Span, number | null | undefined>>): Partial<SpendingCaps> | undefined {
  const given = SPANS.flatMap((span) => (caps[span] === undefined ? [] : [[span, caps[span]]]))
  return given.length === 0 ? undefined : Object.fromEntries(given)
}

function settingColumns(settings: KeySettings): Array<[column: string, value: unknown]> {
  const columns: Array<[string, unknown]> = []
  for (const [name, column] of Object.entries(COLUMN_OF)) {
    const value = settings[name as keyof KeySettings]
    if (value === undefined) continue
    columns.push([column, name === 'expiresAtMs' && typeof value === 'number' ? new Date(value) : value])
  }
  for (const span of SPANS) {
    const units = settings.caps?.[span]
    if (units !== undefined) columns.push([capColumn(span), units])
  }
  return columns
}

/**
 * Makes a key of an account.
 * @returns the key, and its secret, which is shown here and never again
 * @throws GatewayError 400 for settings that exclude each other
 */
export async function createKey(
  db: Queryable,
  accountId: string,
  settings: KeySettings = {},
): Promise<{ key: ApiKey; secret: string }> {
  const secret = newSecret('sk')
  const columns: Array<[string, unknown]> = [
    ['id', newId('key')],
    ['account_id', accountId],
    ['hash', hashSecret(secret)],
    ['last4', secret.slice(-4)],
    ...settingColumns(settings),
  ]
  const made = await db.query<ApiKey>(
    `INSERT INTO api_keys (${columns.map(([column]) => column).join(', ')})
     VALUES (${columns.map((_, index) => `$${index + 1}`).join(', ')}) RETURNING ${COLUMNS}`,
    columns.map(([, value]) => value),
  )
  const [row] = made.rows
  if (row === undefined) throw new Error('the database returned no row for a new key')
  return { key: consistent(row), secret }
}

/** @throws GatewayError 400 for content in traces on the private tier; it is thrown inside the caller's transaction */
function consistent(key: ApiKey): ApiKey {
  if (!key.captureContent || !key.privateTier) return key
  const message = 'capture_content must be false for a key with private_tier, whose content is never captured.'
  throw invalidRequest(message, 'capture_content')
}

/**
 * Changes settings of a key. After the commit the caller notifies the proxies with `announceKeyChanges`.
 * @throws UnknownKeyError also for a revoked key, which stays unchanged; GatewayError 400 for settings that exclude each other
 */
export async function updateKey(db: Queryable, keyId: string, settings: KeySettings): Promise<ApiKey> {
  const columns = settingColumns(settings)
  if (columns.length === 0) return keyOrThrow(await keyOf(db, keyId), keyId)
  const changes = columns.map(([column], index) => `${column} = $${index + 2}`).join(', ')
  const changed = await db.query<ApiKey>(
    `UPDATE api_keys SET ${changes} WHERE id = $1 AND revoked_at IS NULL RETURNING ${COLUMNS}`,
    [keyId, ...columns.map(([, value]) => value)],
  )
  const [row] = changed.rows
  if (row !== undefined) return consistent(row)
  throw new UnknownKeyError(keyId, (await keyOf(db, keyId)) ? 'a revoked key cannot be changed:' : undefined)
}

/**
 * Gives a key a new secret; the one before ends with the transaction.
 * @returns the key, and its secret, which is shown here and never again
 * @throws UnknownKeyError also for a revoked key
 */
export async function replaceSecret(db: Queryable, keyId: string): Promise<{ key: ApiKey; secret: string }> {
  const secret = newSecret('sk')
  const changed = await db.query<ApiKey>(
    `UPDATE api_keys SET hash = $2, last4 = $3 WHERE id = $1 AND revoked_at IS NULL RETURNING ${COLUMNS}`,
    [keyId, hashSecret(secret), secret.slice(-4)],
  )
  const [row] = changed.rows
  return { key: keyOrThrow(row, keyId), secret }
}

/** Revokes a key permanently; idempotent. @throws UnknownKeyError */
export async function revokeKey(db: Queryable, keyId: string): Promise<ApiKey> {
  const revoked = await db.query<ApiKey>(
    `UPDATE api_keys SET revoked_at = coalesce(revoked_at, now()) WHERE id = $1 RETURNING ${COLUMNS}`,
    [keyId],
  )
  return keyOrThrow(revoked.rows[0], keyId)
}

function keyOrThrow(key: ApiKey | undefined, keyId: string): ApiKey {
  if (key === undefined) throw new UnknownKeyError(keyId)
  return key
}

/** One key by its id, or undefined. */
export async function keyOf(db: Queryable, keyId: string): Promise<ApiKey | undefined> {
  const found = await db.query<ApiKey>(`SELECT ${COLUMNS} FROM api_keys WHERE id = $1`, [keyId])
  return found.rows[0]
}

/** Every key of an account, oldest first, revoked ones included. */
export async function listKeys(db: Queryable, accountId: string): Promise<ApiKey[]> {
  const found = await db.query<ApiKey>(`SELECT ${COLUMNS} FROM api_keys WHERE account_id = $1 ORDER BY id`, [accountId])
  return found.rows
}

/**
 * A page of the keys of an account that are not revoked, newest first, without the sub-keys of platforms.
 * @param after the id of the key to continue after, or ''
 */
export async function pageOfKeys(db: Queryable, accountId: string, limit: number, after: string): Promise<ApiKey[]> {
  const found = await db.query<ApiKey>(
    `SELECT ${COLUMNS} FROM api_keys
     WHERE account_id = $1 AND revoked_at IS NULL AND platform_key_id IS NULL AND ($2 = '' OR id < $2)
     ORDER BY id DESC LIMIT $3`,
    [accountId, after, limit],
  )
  return found.rows
}

/** The ids among these that no price sheet ever had: typing errors, which would lock a key out of everything. */
export async function unknownModels(db: Queryable, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const known = await db.query<{ id: string }>('SELECT id FROM catalog_models WHERE id = ANY ($1::text[])', [ids])
  const names = new Set(known.rows.map((row) => row.id))
  return ids.filter((id) => !names.has(id))
}

/** The ids among these that no tool of the price sheet in force has: typing errors, as for models. */
export async function unknownTools(db: Queryable, ids: readonly string[]): Promise<string[]> {
  if (ids.length === 0) return []
  const names = new Set(await soldTools(db))
  return ids.filter((id) => !names.has(id))
}

/** The ids of the tools on the price sheet in force. */
export async function soldTools(db: Queryable): Promise<string[]> {
  const sheet = await latestSheet(db)
  if (sheet === undefined) return []
  return ((JSON.parse(sheet.text) as Sheet).tools ?? []).map(({ id }) => id)
}
