import { GatewayError } from '../../../contract/errors/errors.ts'
import type { MessageLimits } from './limits.ts'

const RETRY_SECONDS = 1

/** Bounds how many counts are under way, because nothing that they cost is charged. */
export class OpenCounts {
  private readonly limits: MessageLimits
  private readonly byKey = new Map<string, number>()
  private open = 0

  constructor(limits: MessageLimits) {
    this.limits = limits
  }

  /**
   * Runs a count of a key, unless the key has too many under way.
   * @throws GatewayError rate_limited, too_many_requests_open; the errors of `count`
   */
  async hold<T>(keyId: string, count: () => Promise<T>): Promise<T> {
    const { countsOpenMax, countsPerKeyMax } = this.limits
    const ofKey = this.byKey.get(keyId) ?? 0
    if (ofKey >= countsPerKeyMax) {
      const message = `This key has ${ofKey} counts of tokens under way; wait for them.`
      throw new GatewayError('rate_limited', { message, retryAfterSeconds: RETRY_SECONDS })
    }
    if (this.open >= countsOpenMax) {
      throw new GatewayError('too_many_requests_open', { retryAfterSeconds: RETRY_SECONDS })
    }
    this.open++
    this.byKey.set(keyId, ofKey + 1)
    try {
      return await count()
    } finally {
      this.open--
      const left = (this.byKey.get(keyId) ?? 1) - 1
      if (left > 0) this.byKey.set(keyId, left)
      else this.byKey.delete(keyId)
    }
  }
}
