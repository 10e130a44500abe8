import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../contract/wire/redis.ts'
import { RECALL_CHANNEL } from '../../contract/wire/redisKeys.ts'
import type { Limits } from '../limits.ts'

/**
 * Takes units of an account; where they lack while others are out in leases, calls back what is idle of those and tries
 * again for limits.recallMs, so that nobody is refused for money that lies idle.
 * @param take told whether it is the last time; what it answers then stands
 * @param isShort whether it was refused for want of units that leases may have
 */
export async function takeRecalling<Answer>(
  redis: Redis,
  accountId: string,
  limits: Limits,
  take: (isLast: boolean) => Promise<Answer>,
  isShort: (answer: Answer) => boolean,
): Promise<Answer> {
  let answer = await take(false)
  if (!isShort(answer)) return answer
  await redis.publish(RECALL_CHANNEL, accountId)
  const deadlineMs = performance.now() + limits.recallMs
  for (let isLast = false; isShort(answer) && !isLast; ) {
    await sleep(limits.recallStepMs)
    isLast = performance.now() >= deadlineMs
    answer = await take(isLast)
  }
  return answer
}
