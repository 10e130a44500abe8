import { GatewayError } from '../errors/errors.ts'

/** How often something may happen, and how often in a burst after a quiet time. */
export interface Rate {
  readonly perMinute: number
  readonly burst: number
}

/**
 * Limits rates by name, in memory, by the generic cell rate algorithm (ITU-T I.371): of each name it knows the time at
 * which it would be idle again.
 */
export class RateLimiter {
  private readonly rate: Rate
  private readonly namesMax: number
  /** In the order of their last use, so that the first is the one unused for longest. */
  private readonly idleAtMs = new Map<string, number>()

  constructor(rate: Rate, namesMax: number) {
    this.rate = rate
    this.namesMax = namesMax
  }

  /**
   * Counts one event, unless it exceeds the rate.
   * @returns zero, or the milliseconds to wait
   */
  take(name: string, nowMs: number): number {
    const waitMs = this.waitMs(name, nowMs)
    if (waitMs > 0) return waitMs
    const idleAtMs = Math.max(this.idleAtMs.get(name) ?? 0, nowMs) + 60_000 / this.rate.perMinute
    this.idleAtMs.delete(name)
    const first = this.idleAtMs.size >= this.namesMax ? this.idleAtMs.keys().next() : undefined
    if (first?.done === false) this.idleAtMs.delete(first.value)
    this.idleAtMs.set(name, idleAtMs)
    return 0
  }

  /** How long an event of this name would have to wait; counts nothing. */
  waitMs(name: string, nowMs: number): number {
    const intervalMs = 60_000 / this.rate.perMinute
    const idleAtMs = this.idleAtMs.get(name) ?? 0
    return Math.max(0, idleAtMs - nowMs - intervalMs * (this.rate.burst - 1))
  }
}

/** @throws GatewayError rate_limited unless there is nothing to wait for */
export function refuseAfter(waitMs: number): void {
  if (waitMs > 0) throw new GatewayError('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / 1_000) })
}
