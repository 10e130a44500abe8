import { clientNetwork } from '../../contract/net/ipAddress.ts'
import { RateLimiter, refuseAfter } from '../../contract/std/rateLimiter.ts'
import type { Exchange } from '../server/exchange.ts'
import type { KeptAnswer } from './keptAnswers.ts'
import type { EndpointLimits } from './limits.ts'

/** Counts the public reads that a process answers, by client network. */
export class PublicReaders {
  private readonly limiter: RateLimiter

  constructor({ apiRequestsPerMinute: perMinute, apiRequestBurst: burst, publicReadersMax }: EndpointLimits) {
    this.limiter = new RateLimiter({ perMinute, burst }, publicReadersMax)
  }

  /** @throws GatewayError rate_limited */
  count(clientAddress: string): void {
    refuseAfter(this.limiter.take(clientNetwork(clientAddress), Date.now()))
  }
}

/** Sends a kept answer, or 304 to a client that has it (RFC 9110, section 13.1.2). */
export function answerKept(exchange: Exchange, answer: KeptAnswer, maxAgeSeconds: number): void {
  const { contentType, body, etag, madeAtMs } = answer
  const ageSeconds = Math.max(0, Math.floor((Date.now() - madeAtMs) / 1_000))
  const fields: Readonly<Record<string, string>> = {
    'cache-control': `public, max-age=${maxAgeSeconds}`,
    age: String(ageSeconds),
    etag,
    // The headers for browsers are sent to those that ask.
    vary: 'origin',
  }
  const headers = [...Object.entries(fields).flat(), ...answer.headers]
  exchange.answer(matches(exchange.head.ifNoneMatch, etag) ? 304 : 200, contentType, body, headers)
}

/** Weak comparison: a proxy in front that compresses answers makes their tags weak. */
function matches(ifNoneMatch: string, etag: string): boolean {
  if (ifNoneMatch === '') return false
  return ifNoneMatch.split(',').some((tag) => tag.trim() === '*' || tag.trim().replace(/^W\//, '') === etag)
}
