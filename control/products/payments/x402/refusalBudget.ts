import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Address } from '../../../../contract/payments/address.ts'
import { RateLimiter } from '../../../../contract/std/rateLimiter.ts'
import type { PaymentsLimits } from '../limits.ts'
import { kindOf, type PaymentKind, type PaymentOrder } from './paymentOrder.ts'

/** The fields by which refused payments are counted. */
type Counted = Pick<PaymentOrder, 'payment' | 'contractDigest' | 'payer' | 'clientNetwork'>

/**
 * Rate-limits refused payments that are checked on the chain, by client network and overall, separately for each kind of
 * payment. Only refusals count, so payments that settle are never slowed down; a payer whose last payment settled is
 * always admitted.
 */
export class RefusalBudget {
  private readonly byNetwork: RateLimiter
  private readonly overall: RateLimiter
  private readonly trustedMax: number
  /** Payers whose last payment settled, least recently seen first. */
  private readonly trusted = new Set<Address>()

  constructor(limits: PaymentsLimits) {
    this.byNetwork = new RateLimiter(
      { perMinute: limits.paymentRefusalsPerMinute, burst: limits.paymentRefusalBurst },
      limits.rateLimiterEntriesMax,
    )
    this.overall = new RateLimiter(
      { perMinute: limits.paymentRefusalsOverallPerMinute, burst: limits.paymentRefusalOverallBurst },
      limits.rateLimiterEntriesMax,
    )
    this.trustedMax = limits.trustedPayersMax
  }

  /**
   * Call it before the chain is asked about a payment.
   * @throws GatewayError payments_busy while too many of its kind have been refused
   */
  check(order: Counted): void {
    const kind = kindOf(order)
    // The name alone proves nothing: only the signature of a key was checked before.
    if (kind === 'authorization' && this.trusted.has(order.payer)) return
    const nowMs = Date.now()
    const ownMs = this.byNetwork.waitMs(nameOf(kind, order), nowMs)
    const waitMs = Math.max(ownMs, this.overall.waitMs(kind, nowMs))
    if (waitMs > 0) throw new GatewayError('payments_busy', { retryAfterSeconds: Math.ceil(waitMs / 1_000) })
  }

  /** The chain was asked about a payment, and nothing was paid. */
  noteRefused(order: Counted): void {
    const kind = kindOf(order)
    const nowMs = Date.now()
    this.byNetwork.take(nameOf(kind, order), nowMs)
    this.overall.take(kind, nowMs)
    // Others may have named this payer.
    if (kind === 'authorization') this.trusted.delete(order.payer)
  }

  notePaid({ payer }: Counted): void {
    this.trusted.delete(payer)
    const [oldest] = this.trusted.size >= this.trustedMax ? this.trusted : []
    if (oldest !== undefined) this.trusted.delete(oldest)
    this.trusted.add(payer)
  }
}

function nameOf(kind: PaymentKind, { clientNetwork }: Counted): string {
  return `${kind} ${clientNetwork}`
}
