import { bodyOf, type RequestKind } from './kinds.ts'
import type { LoadLimits } from './limits.ts'
import { requestBytes, type Target } from './target.ts'

/** A request that is ready to be sent. */
export interface ReadyRequest {
  readonly bytes: Buffer
  readonly kind: RequestKind
  readonly key: string
}

/**
 * The requests of a load test. Kinds come as often as their weights say and evenly spread, not by chance, so that two
 * load tests send the same; keys come in turn.
 */
export class RequestSource {
  private readonly target: Target
  private readonly kinds: readonly { kind: RequestKind; body: string; place: number }[]
  private readonly credits: number[]
  private readonly weights: number
  private readonly keys: readonly string[]
  private readonly limits: LoadLimits
  private readonly ready = new Map<number, ReadyRequest>()
  private nextKey = 0

  /** @param kinds at least one @param keys at least one; '' sends none */
  constructor(target: Target, kinds: readonly RequestKind[], keys: readonly string[], limits: LoadLimits) {
    this.target = target
    this.kinds = kinds.map((kind, place) => ({ kind, body: bodyOf(kind), place }))
    this.credits = kinds.map(() => 0)
    this.weights = kinds.reduce((sum, { weight }) => sum + weight, 0)
    this.keys = keys
    this.limits = limits
  }

  next(): ReadyRequest {
    const { kind, body, place } = this.nextKind()
    const id = place * this.keys.length + this.nextKey
    const key = this.keys[this.nextKey] ?? ''
    this.nextKey = (this.nextKey + 1) % this.keys.length
    const known = this.ready.get(id)
    if (known !== undefined) return known
    const bytes = requestBytes(this.target, { method: 'POST', path: '/v1/chat/completions', key, body })
    const made = { bytes, kind, key }
    if (this.ready.size < this.limits.loadReadyRequestsMax) this.ready.set(id, made)
    return made
  }

  /** Every kind gains its weight, and the one that has most pays for the turn. */
  private nextKind(): { kind: RequestKind; body: string; place: number } {
    let best: (typeof this.kinds)[number] | undefined
    let most = Number.NEGATIVE_INFINITY
    for (const one of this.kinds) {
      const credit = (this.credits[one.place] ?? 0) + one.kind.weight
      this.credits[one.place] = credit
      if (credit <= most) continue
      most = credit
      best = one
    }
    if (best === undefined) throw new Error('a load test needs a kind of requests')
    this.credits[best.place] = most - this.weights
    return best
  }
}
