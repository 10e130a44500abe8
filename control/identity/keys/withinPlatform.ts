import type { ApiKey } from './keyRow.ts'

/** An allowlist with a single empty id, which nothing has, allows nothing; an empty one would allow everything. */
const NOTHING: readonly string[] = ['']

/**
 * A sub-key limited by the present settings of its platform key, which may be stricter than when the sub-key was made: it is
 * paused with the platform key, ends with it, and may only use what both allow. The caps stay its own, since those of the
 * platform key count the spending of all its sub-keys.
 */
export function withinPlatform(key: ApiKey, platform: ApiKey): ApiKey {
  return {
    ...key,
    paused: key.paused || platform.paused,
    models: inBoth(key.models, platform.models),
    tools: inBoth(key.tools, platform.tools),
    noLogs: key.noLogs || platform.noLogs,
    privateTier: key.privateTier || platform.privateTier,
    captureContent: key.captureContent && !key.noLogs && !platform.noLogs && !key.privateTier && !platform.privateTier,
    // Settings that it leaves open are inherited, and it cannot allow more than the platform key.
    allowRetention: key.allowRetention === false ? false : platform.allowRetention,
    canTransfer: false,
    // Zero is the gateway's own rate, as null is no expiry.
    requestsPerMinute: lesser(key.requestsPerMinute || null, platform.requestsPerMinute || null) ?? 0,
    tokensPerMinute: lesser(key.tokensPerMinute || null, platform.tokensPerMinute || null) ?? 0,
    parallel: lesser(key.parallel || null, platform.parallel || null) ?? 0,
    expiresAtMs: lesser(key.expiresAtMs, platform.expiresAtMs),
  }
}

function inBoth(own: readonly string[], platform: readonly string[]): readonly string[] {
  if (platform.length === 0) return own
  if (own.length === 0) return platform
  const allowed = new Set(platform)
  const both = own.filter((id) => allowed.has(id))
  return both.length === 0 ? NOTHING : both
}

/** The lesser of two bounds, null being none. */
function lesser(one: number | null, other: number | null): number | null {
  if (one === null || other === null) return one ?? other
  return Math.min(one, other)
}
