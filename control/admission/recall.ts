import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from '../../contract/wire/redis.ts'
import { RECALL_CHANNEL } from '../../contract/wire/redisKeys.ts'
import type { AdmissionLimits } from './limits.ts'

/**
 * Takes units of an account. When too few are available while others are out in leases, recalls the idle ones and retries for
 * limits.recallMs, so that idle leases cause no rejection.
 * @param take makes one attempt; the answer of the last one, with `isLast`, is final
 * @param isShort whether the attempt failed for lack of units that leases may have
 */
export async function takeRecalling<Answer>(
  redis: Redis,
  accountId: string,
  limits: AdmissionLimits,
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
