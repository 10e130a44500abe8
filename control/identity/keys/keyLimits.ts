import { formatUsd } from '../../../contract/money/units.ts'
import { byWindow } from '../../../contract/money/windows.ts'
import { COUNTERS } from '../../../contract/wire/caps.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { keyCountersKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { endRests } from '../../admission/endRests.ts'
import { spendingIn } from '../../admission/keySpending.ts'
import { endMsOf, windowsAt } from '../../admission/windows.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'
import type { ApiKey } from './keyRow.ts'
import { keyJson } from './settingsJson.ts'

/**
 * The caps of a key, its spending including holds in the current windows, and the remaining amounts. Admission decides by the
 * same counters.
 */
export async function keyLimits(redis: Redis, key: ApiKey) {
  await endRests(redis, key.accountId)
  const [counters, nowMs] = await Promise.all([
    redis.hmget(keyCountersKey(shardOf(key.accountId), key.id), ...COUNTERS),
    redisNowMs(redis),
  ])
  const windows = windowsAt(nowMs)
  const used = spendingIn(counters, windows)
  return {
    ...keyJson(key),
    object: 'key_limits' as const,
    caps: byWindow((window) => limitJson(key.caps[window], used[window], endMsOf(windows[window]))),
    budget: limitJson(key.caps.life, used.life, null),
  }
}

/** @param capUnits null for none. @param resetsAtMs null when it never does */
function limitJson(capUnits: number | null, usedUnits: number, resetsAtMs: number | null) {
  return {
    cap: capUnits === null ? null : formatUsd(capUnits),
    used: formatUsd(usedUnits),
    left: capUnits === null ? null : formatUsd(Math.max(0, capUnits - usedUnits)),
    ...(resetsAtMs === null ? {} : { resets_at: new Date(resetsAtMs).toISOString() }),
  }
}
