import type { ApiKey } from './keyRow.ts'

/** An allowlist with a single empty id, which nothing has, allows nothing; an empty one would allow everything. */
const NOTHING: readonly string[] = ['']

/**
 * A sub-key with what its platform key may do now, which can be less than when it was made: it is paused with it, ends with
 * it, and may use what both may. The caps stay its own, since those of the platform key count what all its keys spend.
 */
export function withinPlatform(key: ApiKey, platform: ApiKey): ApiKey {
  return {
    ...key,
    paused: key.paused || platform.paused,
    models: inBoth(key.models, platform.models),
    tools: inBoth(key.tools, platform.tools),
    noLogs: key.noLogs || platform.noLogs,
    privateTier: key.privateTier || platform.privateTier,
    // What it leaves open is taken from there, and it may not allow what is not allowed there.
    allowRetention: key.allowRetention === false ? false : platform.allowRetention,
    canTransfer: false,
    // Zero is the gateway's own rate, as null is no expiry.
    requestsPerMinute: lesser(key.requestsPerMinute || null, platform.requestsPerMinute || null) ?? 0,
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
