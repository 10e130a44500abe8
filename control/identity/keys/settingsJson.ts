import { tagsOf } from '../../../contract/money/tags.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import { WINDOWS } from '../../../contract/money/windows.ts'
import type { ApiKey } from './keyRow.ts'
import type { KeySettings } from './keys.ts'

const capText = (units: number | null): string | null => (units === null ? null : formatUsd(units))
const nullForNone = (limit: number | undefined): number | null | undefined => (limit === 0 ? null : limit)
const timeText = (ms: number | null): string | null => (ms === null ? null : new Date(ms).toISOString())

/** Settings under the names and in the forms of the API; absent settings are omitted. */
export function settingsJson(settings: KeySettings): Record<string, unknown> {
  const caps = WINDOWS.flatMap((window) => {
    const units = settings.caps?.[window]
    return units === undefined ? [] : [[window, capText(units)]]
  })
  const given = {
    name: settings.name,
    paused: settings.paused,
    caps: caps.length === 0 ? undefined : Object.fromEntries(caps),
    budget: settings.caps?.life === undefined ? undefined : capText(settings.caps.life),
    models: settings.models,
    tools: settings.tools,
    no_logs: settings.noLogs,
    private_tier: settings.privateTier,
    capture_content: settings.captureContent,
    allow_retention: settings.allowRetention,
    can_transfer: settings.canTransfer,
    requests_per_minute: nullForNone(settings.requestsPerMinute),
    tokens_per_minute: nullForNone(settings.tokensPerMinute),
    parallel: nullForNone(settings.parallel),
    expires_at: settings.expiresAtMs === undefined ? undefined : timeText(settings.expiresAtMs),
    platform: settings.isPlatform,
    tags: settings.tags === undefined ? undefined : tagsOf(settings.tags),
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

/** The state of this key, which decides its requests now. */
export function stateOf(key: ApiKey): 'revoked' | 'expired' | 'paused' | 'active' {
  if (key.revokedAtMs !== null) return 'revoked'
  if (key.expiresAtMs !== null && key.expiresAtMs <= Date.now()) return 'expired'
  return key.paused ? 'paused' : 'active'
}

/** A key as its owner sees it. */
export function keyJson(key: ApiKey) {
  return {
    object: 'api_key' as const,
    id: key.id,
    last4: key.last4,
    state: stateOf(key),
    ...settingsJson(key),
    created_at: new Date(key.createdAtMs).toISOString(),
  }
}
