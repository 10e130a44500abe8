import { formatUsd } from '../../../contract/money/units.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { keyCountersKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { windowsAt } from '../../admission/windows.ts'
import { redisNowMs } from '../../runtime/redisClock.ts'
import type { ApiKey } from './keyRow.ts'
import { keyJson } from './settingsJson.ts'

const HOUR_MS = 3_600_000

/**
 * The caps of a key, its spending including holds in the current windows, and the remaining amounts. Admission decides by the
 * same counters.
 */
export async function keyLimits(redis: Redis, key: ApiKey) {
  const [counters, nowMs] = await Promise.all([
    redis.hgetall(keyCountersKey(shardOf(key.accountId), key.id)),
    redisNowMs(redis),
  ])
  const windows = windowsAt(nowMs)
  const used = (window: string, now: number, sum: string): number =>
    Number(counters[window] ?? -1) === now ? Number(counters[sum] ?? 0) : 0
  const month = new Date(nowMs)
  const nextMonthMs = Date.UTC(month.getUTCFullYear(), month.getUTCMonth() + 1, 1)
  return {
    ...keyJson(key),
    object: 'key_limits' as const,
    caps: {
      hour: limitJson(key.capHourUnits, used('hw', windows.hour, 'hs'), (windows.hour + 1) * HOUR_MS),
      day: limitJson(key.capDayUnits, used('dw', windows.day, 'ds'), (windows.day + 1) * 24 * HOUR_MS),
      month: limitJson(key.capMonthUnits, used('mw', windows.month, 'ms'), nextMonthMs),
    },
    budget: limitJson(key.budgetUnits, Number(counters['bs'] ?? 0), null),
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
