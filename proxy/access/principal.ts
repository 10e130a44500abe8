import { GatewayError } from '../../contract/errors/errors.ts'
import { NO_CAPS, SPANS, type Span } from '../../contract/money/windows.ts'
import { capArguments } from '../../contract/wire/caps.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { accountKeys, keyCountersKey } from '../../contract/wire/redisKeys.ts'
import { FixedArguments } from '../../contract/wire/scriptArguments.ts'
import { type CustomerQuotas, customerQuotas } from '../quotas/customerPots.ts'
import type { AccessLimits } from './limits.ts'

/** The cap of a single request of an agent, in units; null for no cap. */
export interface AgentPolicy {
  /** The most that a request may cost at worst. */
  readonly requestCapUnits: number | null
  /** Requests that may cost more than this wait for the agent's owner. */
  readonly approvalThresholdUnits: number | null
}

/** The platform key of a sub-key, which all that it and its sub-keys hold counts against. */
export interface PlatformKey {
  readonly keyId: string
  readonly countersKey: string
  /** Its id and its caps as hold.lua takes them. */
  readonly caps: FixedArguments
}

const MICROS_PER_MINUTE = 60_000_000

/** An API key as admission and routing need it, with everything that can be prepared once per key. */
export interface Principal {
  readonly keyId: string
  readonly accountId: string
  readonly shard: number
  /** Without a key: the client pays for this one request. */
  readonly paysPerRequest: boolean
  readonly paused: boolean
  readonly expiresAtMs: number
  /** Public model ids that the key may use, or null for all. */
  readonly models: ReadonlySet<string> | null
  /** Ids of the priced tools that the key may use, or null for all. */
  readonly tools: ReadonlySet<string> | null
  readonly noLogs: boolean
  readonly privateTier: boolean
  /** Traces may have the content of its requests, where the proxy captures any. */
  readonly capturesContent: boolean
  /** The key or its account has opted in to providers and tools that keep data, for requests that do not decide it. */
  readonly allowRetention: boolean
  /** From accountKeys. */
  readonly keys: FixedArguments
  /** Account and key as hold.lua takes them. */
  readonly ids: FixedArguments
  /** A cap for each span, and the rate, as hold.lua takes them. */
  readonly caps: FixedArguments
  /** Of an agent's key; null for all others. */
  readonly agent: AgentPolicy | null
  /** Of a sub-key; null for all others. */
  readonly platform: PlatformKey | null
  /** Series of compute locks whose tokens its requests burn; null for keys without any, as nearly all are. */
  readonly locks: ReadonlySet<string> | null
  /** The key's own rate; 0 where it has the gateway's. */
  readonly requestsPerMinute: number
  /** Limits that hold over all proxies, beside the rate. */
  readonly quotas: CustomerQuotas
  /** Tags of its requests that do not say otherwise, as contract/money/tags.ts has them; '' for none. */
  readonly tags: string
}

/**
 * Prepares a key record of control for the hot path.
 * @throws GatewayError key_privacy_unavailable or settings_unavailable when that part of the record was not read,
 *   or has a cap that this version does not know
 */
export function toPrincipal(record: sluice.KeyRecord, limits: AccessLimits): Principal {
  if (!record.privacyKnown) throw new GatewayError('key_privacy_unavailable', { retryAfterSeconds: 1 })
  if (!record.settingsKnown) throw new GatewayError('settings_unavailable', { retryAfterSeconds: 1 })
  const perMinute = record.requestsPerMinute > 0 ? record.requestsPerMinute : limits.requestsPerMinute
  const interval = Math.max(1, Math.floor(MICROS_PER_MINUTE / perMinute))
  const burst = Math.max(1, Math.min(perMinute, limits.requestBurst))
  return {
    keyId: record.keyId,
    accountId: record.accountId,
    shard: record.shard,
    paysPerRequest: false,
    paused: record.paused,
    expiresAtMs: record.expiresAtMs,
    models: record.models.length === 0 ? null : new Set(record.models),
    tools: record.tools.length === 0 ? null : new Set(record.tools),
    noLogs: record.noLogs,
    privateTier: record.privateTier,
    capturesContent: record.captureContent && !record.noLogs && !record.privateTier,
    allowRetention: record.allowRetention,
    keys: accountKeys(record.shard, record.accountId, record.keyId),
    ids: new FixedArguments(record.accountId, record.keyId),
    caps: new FixedArguments(...capTexts(record), `${interval},${burst}`),
    agent: agentPolicy(record.agent),
    platform: platformKey(record.shard, record.platform),
    locks: locksOf(record),
    requestsPerMinute: record.requestsPerMinute,
    quotas: customerQuotas(record),
    tags: record.tags,
  }
}

/** Tokens are not burnt on the private tier, nor by keys of agents, whose policy binds each request. */
function locksOf({ lockSeries, privateTier, agent }: sluice.KeyRecord): ReadonlySet<string> | null {
  const burnsNone = lockSeries.length === 0 || privateTier || (agent ?? null) !== null
  return burnsNone ? null : new Set(lockSeries)
}

function agentPolicy(policy: sluice.AgentPolicy | null | undefined): AgentPolicy | null {
  if (policy === null || policy === undefined) return null
  const { requestCapUnits, approvalThresholdUnits } = policy
  return { requestCapUnits: requestCapUnits ?? null, approvalThresholdUnits: approvalThresholdUnits ?? null }
}

function platformKey(shard: number, record: sluice.PlatformRecord.$Properties | null | undefined): PlatformKey | null {
  if (record === null || record === undefined) return null
  const keyId = record.keyId ?? ''
  return {
    keyId,
    countersKey: keyCountersKey(shard, keyId),
    caps: new FixedArguments(keyId, ...capTexts(record)),
  }
}

/**
 * The caps of a record as scripts take them.
 * @throws GatewayError settings_unavailable for a span that this version does not know and could not count
 */
function capTexts({ caps }: { readonly caps?: readonly sluice.Cap.$Properties[] | null }): string[] {
  const known: Record<Span, number | null> = { ...NO_CAPS }
  for (const { span, units } of caps ?? []) {
    if (!isSpan(span)) throw new GatewayError('settings_unavailable', { retryAfterSeconds: 1 })
    known[span] = units ?? 0
  }
  return capArguments(known)
}

function isSpan(name: string | null | undefined): name is Span {
  return SPANS.some((span) => span === name)
}
