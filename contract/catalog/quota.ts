/** The most that may be used of something in any minute, and concurrently; 0 is any amount. */
export interface Quota {
  readonly requestsPerMinute: number
  readonly tokensPerMinute: number
  /** Requests in flight. */
  readonly parallel: number
}

export const NO_QUOTA: Quota = { requestsPerMinute: 0, tokensPerMinute: 0, parallel: 0 }

/** Whether a quota limits anything. */
export function isLimited({ requestsPerMinute, tokensPerMinute, parallel }: Quota): boolean {
  return requestsPerMinute > 0 || tokensPerMinute > 0 || parallel > 0
}

/** A quota as the API and the command line show it: null where it limits nothing. */
export function quotaJson({ requestsPerMinute, tokensPerMinute, parallel }: Quota) {
  return {
    requests_per_minute: requestsPerMinute || null,
    tokens_per_minute: tokensPerMinute || null,
    parallel: parallel || null,
  }
}
