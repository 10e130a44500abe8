import { isLimited, type Quota } from '../../contract/catalog/quota.ts'
import { SPANS, type SpendingCaps } from '../../contract/money/windows.ts'
import type { Fields } from '../../contract/wire/fields.ts'
import type { sluice } from '../../contract/wire/generated/messages.js'
import { shardOf } from '../../contract/wire/redisKeys.ts'
import type { ApiKey } from '../identity/keys/keyRow.ts'
import { withinPlatform } from '../identity/keys/withinPlatform.ts'

/** The parts of a key's record that are not of its own row or that of its platform key. */
export interface KeySurroundings {
  /** The default of its account; undefined when it could not be read. */
  readonly defaultRetention: boolean | null | undefined
  /** Of the key of an agent; null for all others. */
  readonly agent: sluice.AgentPolicy.$Properties | null
  /** The series of compute locks that have not ended and whose tokens its account holds. */
  readonly lockSeries: readonly string[]
  /** The account whose settings apply: of an agent's key, its owner's. */
  readonly settingsOf: string
  /** Its limits; null for none. */
  readonly accountQuota: Quota | null
}

/**
 * The record of a key for the proxies. If the account settings could not be read, it says so, and the proxy rejects the
 * key's requests.
 * @param platform the platform key of a sub-key, else null
 */
export function keyRecordOf(
  own: ApiKey,
  platform: ApiKey | null,
  { defaultRetention, agent, lockSeries, settingsOf, accountQuota }: KeySurroundings,
): Fields<sluice.KeyRecord.$Properties> {
  const key = platform === null ? own : withinPlatform(own, platform)
  return {
    keyId: key.id,
    accountId: key.accountId,
    shard: shardOf(key.accountId),
    paused: key.paused,
    caps: capsOf(key.caps),
    models: [...key.models],
    tools: [...key.tools],
    noLogs: key.noLogs,
    privateTier: key.privateTier,
    captureContent: key.captureContent,
    allowRetention: key.allowRetention ?? defaultRetention ?? false,
    requestsPerMinute: key.requestsPerMinute,
    expiresAtMs: key.expiresAtMs ?? 0,
    privacyKnown: true,
    settingsKnown: defaultRetention !== undefined,
    agent: agent ?? undefined,
    platform: platform === null ? undefined : platformRecord(platform),
    lockSeries: [...lockSeries],
    quota: key.isPlatform ? platformQuota(key) : keyQuota(key),
    accountQuota: accountQuota === null ? undefined : quotaOf(accountQuota),
    quotaAccountId: settingsOf,
    tags: key.tags,
  }
}

function platformRecord(platform: ApiKey): Fields<sluice.PlatformRecord.$Properties> {
  return { keyId: platform.id, caps: capsOf(platform.caps), quota: platformQuota(platform) }
}

/** The limits of a key, or of an account; undefined where there are none. */
function quotaOf(quota: Quota): Quota | undefined {
  const { requestsPerMinute, tokensPerMinute, parallel } = quota
  return isLimited(quota) ? { requestsPerMinute, tokensPerMinute, parallel } : undefined
}

/** The rate of a key alone is held by the leases of its requests; beside another limit it is counted with that one. */
function keyQuota(key: ApiKey): Quota | undefined {
  return key.tokensPerMinute + key.parallel === 0 ? undefined : quotaOf(key)
}

/** The rate of a platform key is that of each of its sub-keys; its other limits are of all together. */
function platformQuota(platform: ApiKey): Quota | undefined {
  return quotaOf({ ...platform, requestsPerMinute: 0 })
}

function capsOf(caps: SpendingCaps): sluice.Cap.$Properties[] {
  return SPANS.flatMap((span) => (caps[span] === null ? [] : [{ span, units: caps[span] }]))
}
