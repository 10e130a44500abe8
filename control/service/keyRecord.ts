import { GatewayError } from '../../contract/errors/errors.ts'
import type { Fields } from '../../contract/wire/fields.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { isId } from '../../contract/wire/ids.ts'
import { shardOf } from '../../contract/wire/redisKeys.ts'
import { settingsOf } from '../identity/accounts/settings.ts'
import { keyInForce } from '../identity/keys/keyInForce.ts'
import type { ApiKey } from '../identity/keys/keyRow.ts'
import { isDatabaseDown } from '../runtime/db/isDatabaseDown.ts'
import type { Queryable } from '../runtime/db/pool.ts'

/**
 * The record of the key with this hash for a proxy. A paused key resolves: the proxy answers that it is paused. If the account
 * settings cannot be read, the record says so, and the proxy rejects the key's requests.
 * @throws GatewayError invalid_api_key when the key is unknown, revoked or expired
 */
export async function resolveKey(db: Queryable, keyHash: string): Promise<Fields<sluice.KeyRecord.$Properties>> {
  const key = await keyInForce(db, keyHash)
  if (key === undefined) throw new GatewayError('invalid_api_key')
  const agent = isId('agt', key.accountId) ? await agentPolicyOf(db, key.accountId) : undefined
  const settings = await settingsOf(db, agent?.ownerId ?? key.accountId).catch((error: unknown) => {
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
    allowRetention: key.allowRetention ?? settings?.allowRetention ?? false,
    requestsPerMinute: key.requestsPerMinute,
    expiresAtMs: key.expiresAtMs ?? 0,
    privacyKnown: true,
    settingsKnown: settings !== undefined,
    agent: agent?.policy,
    platform: key.platform === null ? undefined : platformRecord(key.platform),
    lockSeries: await heldSeries(db, key.accountId),
  }
}

/** The series of compute locks that have not ended and whose tokens an account holds. */
async function heldSeries(db: Queryable, accountId: string): Promise<string[]> {
  const found = await db.query<{ series_id: string }>({
    name: 'held_series',
    text: `SELECT h.series_id FROM lock_holdings h JOIN lock_series s ON s.id = h.series_id
             JOIN ledger_accounts l ON l.id = 'lock:' || h.series_id || ':' || h.account_id
           WHERE h.account_id = $1 AND NOT h.is_dropped AND s.state = 'open' AND l.balance > 0 ORDER BY h.series_id`,
    values: [accountId],
  })
  return found.rows.map((row) => row.series_id)
}

function platformRecord(platform: ApiKey): Fields<sluice.PlatformRecord.$Properties> {
  const { id, capHourUnits, capDayUnits, capMonthUnits, budgetUnits } = platform
  return { keyId: id, capHourUnits, capDayUnits, capMonthUnits, budgetUnits }
}

/** The policy of an agent's requests, and the account whose defaults apply to them. @throws when it cannot be read */
async function agentPolicyOf(
  db: Queryable,
  agentId: string,
): Promise<{ ownerId: string; policy: sluice.AgentPolicy.$Properties }> {
  const found = await db.query<{ owner_id: string; request_cap: number | null; threshold: number | null }>({
    name: 'agent_policy',
    text: `SELECT owner_id, request_cap_units AS request_cap, approval_threshold_units AS threshold
           FROM agents WHERE id = $1`,
    values: [agentId],
  })
  const [row] = found.rows
  if (row === undefined) throw new GatewayError('policy_unavailable', { retryAfterSeconds: 1 })
  return {
    ownerId: row.owner_id,
    policy: { requestCapUnits: row.request_cap, approvalThresholdUnits: row.threshold },
  }
}
