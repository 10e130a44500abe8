import { GatewayError } from '../../../contract/errors/errors.ts'
import type { RefusalFigures } from '../../../contract/errors/figures.ts'
import type { ReceiptPaid } from '../../../contract/money/receipt.ts'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import { isPayer } from '../../../contract/payments/payerAccount.ts'
import { encodeHoldMeta } from '../../../contract/wire/holdMeta.ts'
import type { AgentPolicy, Principal } from '../../access/principal.ts'
import type { Ending, EndingWaiter } from '../../admission/ending.ts'
import type { Held } from '../../admission/held.ts'
import type { HoldWaiter, LockWant } from '../../admission/holds.ts'
import { potsFor } from '../../quotas/customerPots.ts'
import { limitFigures, limitHeaders, limitRefusal, rateUse } from '../../quotas/limitAnswer.ts'
import type { Permit } from '../../quotas/permit.ts'
import type { Pot } from '../../quotas/pot.ts'
import { AgentApproval } from './agentApproval.ts'
import type { RunContext } from './context.ts'

/** Hears of a hold: one of the first three calls follows its taking, one of the next two its ending. */
export interface HoldListener {
  /** It is granted. */
  onHeld(): void
  /** The hold is refused. The error's cause is LOST_ANSWER when it may have been taken all the same. */
  onHoldRefused(error: GatewayError): void
  /** The hold was not taken, because the request has ended meanwhile. */
  onHoldSpared(): void
  /** Its ending is in the journal, with the charge. */
  onSettled(chargedUnits: number): void
  /** As of EndingWaiter: the charge is not certain yet. */
  onSettleDelayed(): void
  /** One of the other calls threw. */
  onCrashed(error: unknown): void
}

/** How a hold ends. */
export interface HoldEnd {
  /** Units to charge, or -1 to void the hold. */
  readonly chargeUnits: number
  /** From settlementText. */
  readonly settlement: string
}

/**
 * The life of a request's hold, independent of the operation: it is taken once an agent's policy allows it, and ended once.
 * For a request that is paid per call, taking the hold means paying.
 */
export class HoldLife implements HoldWaiter, EndingWaiter {
  readonly requestId: string
  readonly principal: Principal
  wantUnits: number
  readonly leastUnits: number
  readonly holdMeta: string
  readonly coinUsdUnits: number
  readonly lock: LockWant | undefined
  /** The granted hold; 0 before that. */
  heldUnits = 0
  /** The part of it that is tokens of a lock, at the locked price. */
  lockUnits = 0
  /** The part of it that is promotional credits. */
  creditUnits = 0
  /** On Redis's clock, as the book has it. */
  heldAtMs = 0
  /** Permits that are left of the key's rate; below zero where that is not known. */
  rateLeft = -1

  private readonly run: RunContext
  private readonly listener: HoldListener
  /** The approval by which an agent's request runs; null for requests of other keys. */
  private approval: AgentApproval | null = null
  /** Of the limits of the key, its account and the model; undefined for a request without. */
  private permit: Permit | undefined

  constructor(run: RunContext, listener: HoldListener) {
    const { model, endpoint, streamed, wantUnits, leastUnits, lock } = run.metered
    this.run = run
    this.listener = listener
    this.requestId = run.exchange.id
    this.principal = run.principal
    this.wantUnits = wantUnits
    this.leastUnits = leastUnits
    this.lock = lock?.hold
    // Payments for single requests are kept in units, independent of the price of coin.
    this.coinUsdUnits = isPayer(run.principal.accountId) ? UNITS_PER_USD : model.sheet.coinUsdUnits
    this.holdMeta = encodeHoldMeta({ model: model.id, endpoint, sheetVersion: model.sheet.version, streamed })
  }

  /** The approval in use; '' for none. */
  get approvalId(): string {
    return this.approval?.id ?? ''
  }

  /** The payment of a request that is paid per call. */
  get paid(): ReceiptPaid | undefined {
    return this.run.services.paid?.receipt
  }

  /** For those who ask why it was refused. */
  get figures(): RefusalFigures {
    const { model, endpoint, tokensMax } = this.run.metered
    return {
      model: model.id,
      endpoint,
      sheetVersion: model.sheet.version,
      wantUnits: this.wantUnits,
      leastUnits: this.leastUnits,
      coinUsdUnits: this.coinUsdUnits,
      ...(tokensMax !== undefined && { tokensMax }),
      ...(this.permit !== undefined && { limits: limitFigures(this.permit.uses) }),
    }
  }

  /** Asks for the hold; the listener gets the answer. */
  take(): void {
    const { agent } = this.principal
    if (agent === null) this.takeHold()
    else this.takeWithin(agent).catch((error: unknown) => this.listener.onCrashed(error))
  }

  /** Leaves the approval of a request that is not charged to the next attempt; it may be called more than once. */
  release(): void {
    this.approval?.release()
  }

  /** Ends the permit of its limits, once. @param usedTokens of a request that the book has */
  endPermit(usedTokens: number): void {
    this.permit?.end(usedTokens)
  }

  /** Ends the hold; the listener gets the result. */
  end(end: HoldEnd): void {
    const { services } = this.run
    services.settlements.end(this.endingOf(services.owner, end), this.principal.keys, this)
  }

  /** Ends the hold, without a callback, on behalf of another owner that may have taken it over. */
  endAs(owner: string, end: HoldEnd): void {
    this.run.services.settlements.end(this.endingOf(owner, end), this.principal.keys, null)
  }

  onHeld({ units, lockUnits, creditUnits, heldAtMs }: Held): void {
    this.heldUnits = units
    this.lockUnits = lockUnits
    this.creditUnits = creditUnits
    this.heldAtMs = heldAtMs
    if (this.principal.requestsPerMinute > 0) this.showLimits(this.rateLeft)
    this.listener.onHeld()
  }

  onHoldRefused(error: GatewayError): void {
    if (this.principal.requestsPerMinute > 0 && error.row === 'rate_limited') this.showLimits(0)
    this.listener.onHoldRefused(error)
  }

  onSettled(chargedUnits: number): void {
    this.listener.onSettled(chargedUnits)
  }

  onSettleDelayed(): void {
    this.listener.onSettleDelayed()
  }

  onCrashed(error: unknown): void {
    this.listener.onCrashed(error)
  }

  /** @param left of the key's rate; below zero where that is not known */
  private showLimits(left: number): void {
    if (left < 0) return
    const ofRate = rateUse(this.principal.requestsPerMinute, left)
    this.run.exchange.limitHeaders = limitHeaders(this.permit === undefined ? [ofRate] : [...this.permit.uses, ofRate])
  }

  private async takeWithin(policy: AgentPolicy): Promise<void> {
    const { exchange, services, metered } = this.run
    const approval = new AgentApproval(services, this.requestId)
    this.approval = approval
    try {
      this.wantUnits = await approval.pass(policy, this.principal.accountId, exchange, metered)
    } catch (error) {
      this.refuse(error)
      return
    }
    if (!exchange.gone && this.run.phase === 'admitting') {
      this.takeHold()
      return
    }
    approval.release()
    this.listener.onHoldSpared()
  }

  /** Takes the permit of its limits first, where the request has any. */
  private takeHold(): void {
    const { services, metered } = this.run
    const pots =
      services.paid === undefined ? potsFor(this.principal.quotas, metered.model.id, metered.model.quota) : null
    if (pots === null) services.holds.take(this)
    else this.takePermit(pots)
  }

  private takePermit(pots: readonly Pot[]): void {
    const { services, metered, exchange } = this.run
    services.permits.take(pots, metered.tokensMax ?? 0, {
      onPermit: (permit) => {
        this.permit = permit
        exchange.limitHeaders = limitHeaders(permit.uses)
        if (!exchange.gone && this.run.phase === 'admitting') {
          services.holds.take(this)
          return
        }
        this.release()
        this.listener.onHoldSpared()
      },
      onDenied: (denial) => {
        exchange.limitHeaders = limitHeaders(denial.uses)
        this.refuse(limitRefusal(denial))
      },
      onCrashed: (error) => this.listener.onCrashed(error),
    })
  }

  private refuse(error: unknown): void {
    const isKnown = error instanceof GatewayError
    if (!isKnown) this.run.services.onCrash(error, this.requestId)
    if (this.run.phase !== 'admitting') this.listener.onHoldSpared()
    else this.listener.onHoldRefused(isKnown ? error : new GatewayError('internal_error'))
  }

  private endingOf(owner: string, { chargeUnits, settlement }: HoldEnd): Ending {
    const { accountId, keyId, shard } = this.principal
    return { requestId: this.requestId, owner, accountId, keyId, shard, chargeUnits, settlement }
  }
}
