import type { Script } from '../../contract/wire/scripts.ts'
import type { QuotaLimits } from './limits.ts'
import { type Denial, Permit, type PermitSource, type PermitWaiter } from './permit.ts'
import type { Pot } from './pot.ts'
import { type Correction, type QuotaAnswer, quotaAnswer, quotaArguments } from './quotaCall.ts'

export interface QuotaContext {
  readonly owner: string
  readonly script: Script
  readonly limits: QuotaLimits
  readonly connected: () => boolean
  /** A call failed, or a waiter threw. */
  readonly onFault: (error: unknown) => void
}

interface Waiting {
  readonly pots: readonly Pot[]
  readonly tokens: number
  readonly waiter: PermitWaiter
}

/** The permits of this process in flight of a pot. */
interface Flying {
  readonly pot: Pot
  count: number
}

/** The wait of a client that meets a Redis which does not answer. */
const UNANSWERED: Denial = { code: undefined, limit: 0, waitMs: 1_000, uses: [] }

/**
 * The permits of a process in one shard. Its calls to Redis are sequential, so that each states exactly what is in flight; all
 * requests and endings of a turn of the event loop are one call.
 */
export class ShardQuotas implements PermitSource {
  private readonly context: QuotaContext
  private readonly flying = new Map<string, Flying>()
  private waiting: Waiting[] = []
  private corrections: Correction[] = []
  /** Pots whose permits in flight have changed, or are not known to Redis for certain. */
  private unstated = new Map<string, Pot>()
  private calls = 0
  private scheduled = false
  private running = false
  private readonly start = (): void => {
    this.scheduled = false
    void this.run()
  }

  constructor(context: QuotaContext) {
    this.context = context
  }

  /** No request waits, and Redis knows the endings. */
  get isDelivered(): boolean {
    return !this.isPending && !this.running && !this.scheduled
  }

  private get isPending(): boolean {
    return this.waiting.length > 0 || this.corrections.length > 0 || this.unstated.size > 0
  }

  take(pots: readonly Pot[], tokens: number, waiter: PermitWaiter): void {
    if (this.waiting.length >= this.context.limits.quotaWaitingMax) setImmediate(() => this.deny(waiter, UNANSWERED))
    else this.waiting.push({ pots, tokens, waiter })
    this.schedule()
  }

  end({ pots, tokens, second }: Permit, usedTokens: number | undefined): void {
    for (const pot of pots) {
      if (pot.parallel > 0) this.land(pot)
      const unused = tokens - (usedTokens ?? tokens)
      if (pot.tokensPerMinute > 0 && unused !== 0) this.corrections.push({ pot, second, tokens: unused })
    }
    this.schedule()
  }

  /** States all that is in flight, before Redis takes this process for dead. */
  state(): void {
    for (const [key, { pot }] of this.flying) this.unstated.set(key, pot)
    this.retry()
  }

  /** Calls again where a call has failed. */
  retry(): void {
    if (this.isPending) this.schedule()
  }

  private schedule(): void {
    if (this.scheduled || this.running) return
    this.scheduled = true
    setImmediate(this.start)
  }

  private async run(): Promise<void> {
    this.running = true
    try {
      while (this.isPending && (await this.call()));
    } finally {
      this.running = false
    }
  }

  /** @returns whether Redis has answered; what it did not take is stated again later */
  private async call(): Promise<boolean> {
    const { limits, connected, script, owner, onFault } = this.context
    if (!connected()) {
      this.denyAll(this.waiting.splice(0))
      return false
    }
    const asks = this.waiting.splice(0, limits.quotaBatchMax)
    const corrections = this.corrections.splice(0, limits.quotaBatchMax)
    const stated = [...this.unstated.values()].slice(0, limits.quotaBatchMax)
    for (const { key } of stated) this.unstated.delete(key)
    const { pots, args } = quotaArguments({ stated, corrections, asks }, (key) => this.flying.get(key)?.count ?? 0)
    try {
      const keys = pots.map(({ key }) => key)
      const reply = await script(keys, [owner, ++this.calls, limits.quotaHoldMs, ...args])
      const answer = quotaAnswer(reply as unknown[], pots, asks.length)
      if (answer === undefined) throw new Error('a call of quota.lua was overtaken')
      this.answered(asks, answer)
      return true
    } catch (error) {
      onFault(error)
      // It may have been taken: permits in flight are stated again, and corrections could only be made twice.
      for (const pot of pots) if (pot.parallel > 0) this.unstated.set(pot.key, pot)
      this.denyAll(asks)
      return false
    }
  }

  private answered(asks: readonly Waiting[], { requests, second, uses }: QuotaAnswer): void {
    const usesOf = (pots: readonly Pot[]) => pots.flatMap((pot) => uses.get(pot.key) ?? [])
    // All are counted before any waiter is called: one that ends its permit immediately must not be missing.
    const answers = asks.map(({ pots, tokens }, i): Permit | Denial => {
      const answer = requests[i]
      if (answer === undefined) return UNANSWERED
      if (answer !== 'permitted') return { ...answer, uses: usesOf(pots) }
      for (const pot of pots) if (pot.parallel > 0) this.fly(pot)
      return new Permit(this, pots, tokens, second, usesOf(pots))
    })
    for (const [i, answer] of answers.entries()) {
      const waiter = asks[i]?.waiter
      if (waiter === undefined) continue
      if (answer instanceof Permit) this.tell(waiter, () => waiter.onPermit(answer))
      else this.deny(waiter, answer)
    }
  }

  private fly(pot: Pot): void {
    const known = this.flying.get(pot.key)
    if (known === undefined) this.flying.set(pot.key, { pot, count: 1 })
    else known.count++
  }

  private land(pot: Pot): void {
    const known = this.flying.get(pot.key)
    if (known === undefined) return
    known.count--
    if (known.count === 0) this.flying.delete(pot.key)
    this.unstated.set(pot.key, pot)
  }

  private denyAll(waiting: readonly Waiting[]): void {
    for (const { waiter } of waiting) this.deny(waiter, UNANSWERED)
  }

  private deny(waiter: PermitWaiter, denial: Denial): void {
    this.tell(waiter, () => waiter.onDenied(denial))
  }

  /** An exception of one waiter must not prevent the calls of the others. */
  private tell(waiter: PermitWaiter, call: () => void): void {
    try {
      call()
    } catch (error) {
      this.context.onFault(error)
      waiter.onCrashed(error)
    }
  }
}
