import type { Quota } from '../../contract/catalog/quota.ts'
import { GatewayError } from '../../contract/errors/errors.ts'
import type { Fields } from '../../contract/wire/fields.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { isId } from '../../contract/wire/ids.ts'
import { refusalOf } from '../../contract/wire/refusal.ts'
import { type ApiKey, COLUMNS } from '../identity/keys/keyRow.ts'
import type { KeyRecordKeeper } from '../runtime/bus/keptKeyRecords.ts'
import { textArray } from '../runtime/db/arrays.ts'
import { isDatabaseDown } from '../runtime/db/isDatabaseDown.ts'
import type { Queryable } from '../runtime/db/pool.ts'
import type { RuntimeLimits } from '../runtime/limits.ts'
import { type KeySurroundings, keyRecordOf } from './keyRecord.ts'

interface RecordRow extends ApiKey {
  /** Of the agent whose key it is. */
  readonly agentOwner: string | null
  readonly requestCap: number | null
  readonly threshold: number | null
  /** Absent where the settings were left out. */
  readonly defaultRetention?: boolean | null
  readonly accountQuota?: Quota | null
  readonly lockSeries: readonly string[]
}

type KeyRecord = Fields<sluice.KeyRecord.$Properties>

/**
 * The records of the keys with these hashes, which one statement reads. A paused key has one, too: the proxy answers that it is
 * paused.
 * @returns by hash; a GatewayError in place of a record that cannot be made, and nothing for a key that is unknown, revoked
 *   or expired
 */
export async function keyRecords(
  db: Queryable,
  keyHashes: readonly string[],
): Promise<ReadonlyMap<string, KeyRecord | GatewayError>> {
  const rows = await rowsOf(db, keyHashes)
  const byId = new Map(rows.map((row) => [row.id, row]))
  const records = new Map<string, KeyRecord | GatewayError>()
  for (const row of rows) {
    // A sub-key is in force as long as its platform key is.
    const platform = row.platformKeyId === null ? null : byId.get(row.platformKeyId)
    if (platform !== undefined) records.set(row.hash, recordOf(row, platform))
  }
  return records
}

/**
 * The record of one key.
 * @throws GatewayError invalid_api_key when the key is unknown, revoked or expired
 */
export async function resolveKey(db: Queryable, keyHash: string): Promise<KeyRecord> {
  const record = (await keyRecords(db, [keyHash])).get(keyHash) ?? new GatewayError('invalid_api_key')
  if (record instanceof GatewayError) throw record
  return record
}

export interface KeyAnswerParts {
  readonly db: Queryable
  readonly kept: KeyRecordKeeper
  readonly limits: Pick<RuntimeLimits, 'keysPerCallMax'>
}

/**
 * Answers a call for the records of keys, and keeps in Redis those that the proxy has claimed.
 * @throws Error for more than limits.keysPerCallMax of them
 */
export async function answerKeys(
  { db, kept, limits }: KeyAnswerParts,
  { keyHashes, claim }: Pick<sluice.ResolveKeysRequest, 'keyHashes' | 'claim'>,
): Promise<sluice.ResolveKeysReply.$Properties> {
  if (keyHashes.length > limits.keysPerCallMax) throw new Error(`a call asks for ${keyHashes.length} keys`)
  const records = await keyRecords(db, keyHashes)
  const keys = keyHashes.map((hash) => resolvedKey(records.get(hash) ?? new GatewayError('invalid_api_key')))
  // A record that is not kept costs a later call, so that the answer does not depend on it.
  if (claim !== '') await kept.keep(claim, keyHashes, wholeOnes(records)).catch(() => undefined)
  return { keys }
}

/** Those that lack no part, encoded. */
function wholeOnes(records: ReadonlyMap<string, KeyRecord | GatewayError>): ReadonlyMap<string, Uint8Array> {
  const whole = new Map<string, Uint8Array>()
  for (const [hash, record] of records) {
    if (record instanceof GatewayError || record.settingsKnown !== true) continue
    whole.set(hash, sluice.KeyRecord.encode(record).finish())
  }
  return whole
}

function resolvedKey(record: KeyRecord | GatewayError): sluice.ResolvedKey.$Properties {
  if (record instanceof GatewayError) return { refusal: refusalOf(record) }
  return { record: sluice.KeyRecord.encode(record).finish() }
}

function recordOf(row: RecordRow, platform: ApiKey | null): KeyRecord | GatewayError {
  const { agentOwner, requestCap, threshold, defaultRetention, lockSeries, accountQuota = null } = row
  const isAgent = agentOwner !== null
  if (isId('agt', row.accountId) !== isAgent) return new GatewayError('policy_unavailable', { retryAfterSeconds: 1 })
  const agent = isAgent ? { requestCapUnits: requestCap, approvalThresholdUnits: threshold } : null
  const settingsOf = agentOwner ?? row.accountId
  const surroundings: KeySurroundings = { defaultRetention, agent, lockSeries, settingsOf, accountQuota }
  return keyRecordOf(row, platform, surroundings)
}

/** The rows of the keys with these hashes and of their platform keys, of those that are in force. */
async function rowsOf(db: Queryable, keyHashes: readonly string[]): Promise<readonly RecordRow[]> {
  const values = [textArray([...new Set(keyHashes)])]
  try {
    return (await db.query<RecordRow>({ ...WITH_SETTINGS, values })).rows
  } catch (error) {
    if (isDatabaseDown(error)) throw error
    // If it was the settings that could not be read, the records say so.
    return (await db.query<RecordRow>({ ...WITHOUT_SETTINGS, values })).rows
  }
}

const statement = (settings: { readonly column: string; readonly join: string }): string =>
  `SELECT ${COLUMNS}, agent_owner AS "agentOwner", request_cap AS "requestCap", threshold${settings.column},
     ARRAY(SELECT h.series_id FROM lock_holdings h JOIN lock_series s ON s.id = h.series_id
             JOIN ledger_accounts l ON l.id = 'lock:' || h.series_id || ':' || h.account_id
           WHERE h.account_id = api_keys.account_id AND NOT h.is_dropped AND s.state = 'open' AND l.balance > 0
           ORDER BY h.series_id) AS "lockSeries"
   FROM api_keys
     LEFT JOIN (SELECT id AS agent_id, owner_id AS agent_owner, request_cap_units AS request_cap,
                  approval_threshold_units AS threshold FROM agents) AS agent ON agent_id = api_keys.account_id
     ${settings.join}
   WHERE (hash = ANY ($1::text[])
       OR id = ANY (ARRAY(SELECT platform_key_id FROM api_keys WHERE hash = ANY ($1::text[]))))
     AND revoked_at IS NULL AND (expires_at IS NULL OR expires_at > now())`

const WITH_SETTINGS = {
  name: 'key_records',
  text: statement({
    column: ', default_retention AS "defaultRetention", account_quota AS "accountQuota"',
    join: `LEFT JOIN (SELECT account_id AS settings_of, allow_retention AS default_retention,
                        json_build_object('requestsPerMinute', requests_per_minute, 'tokensPerMinute', tokens_per_minute,
                          'parallel', parallel) AS account_quota FROM account_settings) AS settings
             ON settings_of = coalesce(agent_owner, api_keys.account_id)`,
  }),
}

const WITHOUT_SETTINGS = { name: 'key_records_alone', text: statement({ column: '', join: '' }) }
