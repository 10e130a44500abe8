import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../../contract/wire/redis.ts'
import { ASK_CHANNEL, askedKey } from '../../../contract/wire/redisKeys.ts'
import type { RecordsLimits } from '../limits.ts'

/** Delay before the first poll for an answer; the delay doubles with every further poll. */
const FIRST_LOOK_MS = 3
const LOOK_MS_MAX = 40

/**
 * Asks all proxy processes for a request that neither the book nor Redis knows. A proxy that serves it answers, a proxy that
 * has its ending delivers the ending immediately, and the others do not answer.
 * @returns whether a proxy answered within limits.receiptAskMs
 * @throws Error when Redis cannot be asked
 */
export async function askProxies(
  redis: Pick<Redis, 'publish' | 'exists'>,
  requestId: string,
  limits: RecordsLimits,
): Promise<boolean> {
  const deadlineMs = performance.now() + limits.receiptAskMs
  await redis.publish(ASK_CHANNEL, requestId)
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MS_MAX)) {
    await sleep(pauseMs)
    // The last poll begins after the deadline, so that answers which arrived while this process stalled are found.
    const isLast = performance.now() >= deadlineMs
    if ((await redis.exists(askedKey(requestId))) === 1) return true
    if (isLast) return false
  }
}
