import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../../contract/wire/redis.ts'
import { ASK_CHANNEL, askedKey, deniedKey, OWNERS_KEY } from '../../../contract/wire/redisKeys.ts'
import type { RecordsLimits } from '../limits.ts'

/** Delay before the first poll for an answer; the delay doubles with every further poll. */
const FIRST_LOOK_MS = 3
const LOOK_MS_MAX = 40

/**
 * Asks all proxy processes for a request that neither the book nor Redis knows. A proxy that serves it answers, a proxy that
 * has its ending delivers the ending immediately, and the others deny it.
 * @returns whether a proxy answered that it serves the request, before all denied it and within limits.receiptAskMs
 * @throws Error when Redis cannot be asked
 */
export async function askProxies(
  redis: Pick<Redis, 'publish' | 'exists' | 'zrange'>,
  requestId: string,
  limits: RecordsLimits,
): Promise<boolean> {
  const deadlineMs = performance.now() + limits.receiptAskMs
  const [owners, listeners] = await Promise.all([
    redis.zrange(OWNERS_KEY, '0', '-1'),
    redis.publish(ASK_CHANNEL, requestId),
  ])
  const denials = owners.map((owner) => deniedKey(requestId, owner))
  // A process that listens may be about to note itself among the owners, as all are while Redis is loaded anew.
  const isDeniedByAll = async () =>
    denials.length > 0 && denials.length >= listeners && (await redis.exists(...denials)) === denials.length
  for (let pauseMs = FIRST_LOOK_MS; ; pauseMs = Math.min(pauseMs * 2, LOOK_MS_MAX)) {
    await sleep(pauseMs)
    // The last poll begins after the deadline, so that answers which arrived while this process stalled are found.
    const isLast = performance.now() >= deadlineMs
    const [known, isDenied] = await Promise.all([redis.exists(askedKey(requestId)), isDeniedByAll()])
    if (known === 1) return true
    if (isLast || isDenied) return false
  }
}
