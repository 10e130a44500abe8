import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../contract/wire/redis.ts'
import { accountKey, REST_CHANNEL, shardOf } from '../../contract/wire/redisKeys.ts'
import { ADMISSION_LIMITS } from './limits.ts'

/**
 * Has the proxies give back the leases of an account that rest, so that money which nobody uses is read as free. Waits until
 * no more comes back, at most for recallMs; leases in use stay.
 */
export async function endRests(redis: Redis, accountId: string): Promise<void> {
  const { recallMs, recallStepMs } = ADMISSION_LIMITS
  const outNow = async () => Number(await redis.hget(accountKey(shardOf(accountId), accountId), 'out'))
  let out = await outNow()
  if (out <= 0) return
  await redis.publish(REST_CHANNEL, accountId)
  for (let waitedMs = 0; waitedMs < recallMs; waitedMs += recallStepMs) {
    await sleep(recallStepMs)
    const left = await outNow()
    if (left <= 0 || (left >= out && waitedMs >= 2 * recallStepMs)) return
    out = left
  }
}
