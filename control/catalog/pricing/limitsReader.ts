import type { Quota } from '../../../contract/catalog/quota.ts'
import type { LimitsContent } from './catalogContent.ts'

/** The limits of an entry that fits its schema. */
export function readLimits(content: LimitsContent): Quota {
  const { requests_per_minute: requestsPerMinute = 0, tokens_per_minute: tokensPerMinute = 0, parallel = 0 } = content
  return { requestsPerMinute, tokensPerMinute, parallel }
}
