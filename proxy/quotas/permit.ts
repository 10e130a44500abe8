import type { Pot } from './pot.ts'

/** Takes permits back. */
export interface PermitSource {
  end(permit: Permit, usedTokens: number | undefined): void
}

/** The use of a pot after a permit was taken from it. */
export interface PotUse {
  readonly pot: Pot
  /** Of the last minute. */
  readonly requests: number
  readonly tokens: number
  /** Until nothing of it counts any more. */
  readonly resetMs: number
}

/** The permit of one request, from all of its pots; it is ended once. */
export class Permit {
  readonly pots: readonly Pot[]
  /** The tokens that are counted for it. */
  readonly tokens: number
  /** The second that it counts in, since 1970 on Redis's clock. */
  readonly second: number
  readonly uses: readonly PotUse[]
  private readonly source: PermitSource
  private isEnded = false

  constructor(source: PermitSource, pots: readonly Pot[], tokens: number, second: number, uses: readonly PotUse[]) {
    this.source = source
    this.pots = pots
    this.tokens = tokens
    this.second = second
    this.uses = uses
  }

  /**
   * The request has ended; later calls do nothing.
   * @param usedTokens undefined where that is not known: the worst case stays counted
   */
  end(usedTokens: number | undefined): void {
    if (this.isEnded) return
    this.isEnded = true
    this.source.end(this, usedTokens)
  }
}

/** Why a request gets no permit now. */
export interface Denial {
  /** A code of QuotaCode; `undefined` where Redis did not answer. */
  readonly code: number | undefined
  /** The limit that was met. */
  readonly limit: number
  /** Until there may be room. */
  readonly waitMs: number
  /** The pot without room; absent where Redis did not answer. */
  readonly pot?: Pot
  /** Of all pots that the request needs. */
  readonly uses: readonly PotUse[]
}

/** A request that waits for its permit; exactly one of the first two calls follows, and the third if that one threw. */
export interface PermitWaiter {
  onPermit(permit: Permit): void
  onDenied(denial: Denial): void
  onCrashed(error: unknown): void
}

/** Gives permits. */
export interface Permits {
  /**
   * Asks for a permit; the waiter is called back in a later turn.
   * @param pots of one shard, at least one
   * @param tokens the worst case
   */
  take(pots: readonly Pot[], tokens: number, waiter: PermitWaiter): void
}
