import { coinDecimal } from '../../../contract/money/coin.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { balanceOf } from '../../book/ledger/balanceOf.ts'
import { availableOf } from '../../identity/accounts/available.ts'
import type { ApiKey } from '../../identity/keys/keyRow.ts'
import { keyOf } from '../../identity/keys/keys.ts'
import { settingsJson } from '../../identity/keys/settingsJson.ts'
import type { Queryable } from '../../runtime/db/pool.ts'
import type { Agent, AgentSettings } from './agents.ts'

const usdText = (units: number | null): string | null => (units === null ? null : formatUsd(units))

/** The settings of an agent in addition to those of its key, as the API names them; absent settings are omitted. */
export function agentSettingsJson(settings: AgentSettings): Record<string, unknown> {
  const { name, description, requestCapUnits, approvalThresholdUnits } = settings
  return {
    ...(name !== undefined && { name }),
    ...(description !== undefined && { description }),
    ...(requestCapUnits !== undefined && { request_cap: usdText(requestCapUnits) }),
    ...(approvalThresholdUnits !== undefined && { approval_threshold: usdText(approvalThresholdUnits) }),
  }
}

/** An agent as shown in public. */
export function publicAgentJson(agent: Agent) {
  return {
    object: 'agent' as const,
    id: agent.id,
    slug: agent.slug,
    name: agent.name,
    description: agent.description,
    created_at: new Date(agent.createdAtMs).toISOString(),
  }
}

/** An agent as shown to its owner and to itself: with its balance, its policy and the settings of its key. */
export async function ownAgentJson(db: Queryable, redis: Redis, agent: Agent) {
  const key = await keyOf(db, agent.keyId)
  if (key === undefined) throw new Error(`agent ${agent.slug} has no key`)
  const balance = await balanceOf(db, agent.id)
  const available = await availableOf(redis, agent.id)
  const { name: _, expires_at: __, platform: ___, ...policy } = settingsJson(key)
  return {
    ...publicAgentJson(agent),
    balance: { coin: coinDecimal(Math.max(0, balance?.coinNanos ?? 0)) },
    available: available === undefined ? null : { coin: coinDecimal(Math.max(0, available.coinNanos)) },
    ...policy,
    request_cap: usdText(agent.requestCapUnits),
    approval_threshold: usdText(agent.approvalThresholdUnits),
    key: agent.keyIssuedAtMs === null ? null : agentKeyJson(agent, key),
  }
}

export function agentKeyJson(agent: Agent, key: ApiKey) {
  return {
    object: 'api_key' as const,
    id: key.id,
    agent: agent.slug,
    last4: key.last4,
    issued_at: agent.keyIssuedAtMs === null ? null : new Date(agent.keyIssuedAtMs).toISOString(),
  }
}
