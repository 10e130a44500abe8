import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../../contract/wire/redis.ts'
import { ASK_CHANNEL, askedKey } from '../../../contract/wire/redisKeys.ts'
import type { Limits } from '../../limits.ts'

/** The first look for an answer comes after this time, and each later one after twice the time of the one before. */
const FIRST_LOOK_MS = 3
const LOOK_MS_MAX = 40

/**
 * Asks all proxy processes for a request that neither the book nor Redis knows. One that serves it says so, and one that
 * has seen its end delivers that at once; who knows nothing of it says nothing.
 * @returns whether one has answered within limits.receiptAskMs
 * @throws Error when Redis cannot be asked
 */
export async function askProxies(
  redis: Pick<Redis, 'publish' | 'exists'>,
  requestId: string,
  limits: Limits,
): Promise<boolean> {
  const deadlineMs = performance.now() + limits.receiptAskMs
  await redis.publish(ASK_CHANNEL, requestId)
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MS_MAX)) {
    await sleep(pauseMs)
    // The last look begins after the deadline: what was answered while this process stood still is seen.
    const isLast = performance.now() >= deadlineMs
    if ((await redis.exists(askedKey(requestId))) === 1) return true
    if (isLast) return false
  }
}
