import type { ProviderError } from './providerError.ts'
import { sentenceOf } from './providerFault.ts'

const QUOTA = /quota/i
/** A quota that comes back sooner is a limit by the minute; one that does not may be the money of the account. */
const QUOTA_WAIT_MS_MAX = 60_000

/**
 * An error of a quota with the wait that the head of its answer asks for, where that shows that the quota is one by the minute.
 * @param waitMs of Retry-After, however long; 0 for none
 */
export function withQuotaWait(status: number, error: ProviderError, waitMs: number): ProviderError {
  const isShort = waitMs > 0 && waitMs <= QUOTA_WAIT_MS_MAX
  const isStated = error.retryAfterMs !== undefined
  return status === 429 && isShort && !isStated && isOfQuota(error) ? { ...error, retryAfterMs: waitMs } : error
}

function isOfQuota({ message, code, names = [code] }: ProviderError): boolean {
  return names.some((name) => QUOTA.test(name)) || QUOTA.test(sentenceOf(message))
}
