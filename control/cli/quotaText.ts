import type { Quota } from '../../contract/catalog/quota.ts'

/** A quota in words. @param inFlight of its requests in flight */
export function quotaText(
  { requestsPerMinute, tokensPerMinute, parallel }: Quota,
  inFlight = 'requests in flight',
): string {
  const limits = [
    requestsPerMinute > 0 && `${requestsPerMinute} requests a minute`,
    tokensPerMinute > 0 && `${tokensPerMinute} tokens a minute`,
    parallel > 0 && `${parallel} ${inFlight}`,
  ]
  return limits.filter(Boolean).join(', ') || 'none'
}
