import { type ErrorCode, GatewayError } from '../../../contract/errors/errors.ts'
import type { AgentPolicy } from '../../access/principal.ts'
import { type HoldWaiter, LOST_ANSWER } from '../../admission/holds.ts'
import type { Ending, EndingWaiter } from '../../admission/settlements.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { PricedItem, Route } from '../../catalog/pricedItem.ts'
import type { GoneListener, HeaderList } from '../../server/exchange.ts'
import { type AttemptListener, Attempts, type Classify } from '../../upstream/attempts.ts'
import { ruleOf } from '../../upstream/operationRules.ts'
import type { TransportFailure, UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { ActiveRun } from './activeRuns.ts'
import { AgentApproval } from './agentApproval.ts'
import { type Bill, NO_BILL, type RunStatus } from './bill.ts'
import { RecordedRun } from './recordedRun.ts'

const VOID = -1

/**
 * The life of a metered request: hold, provider, settlement. What is asked of the provider, how the answer is relayed
 * and what it costs is left to the operations.
 */
export abstract class MeteredRun<Item extends PricedItem = Model>
  extends RecordedRun<Item>
  implements HoldWaiter, AttemptListener, EndingWaiter, GoneListener, ActiveRun
{
  activeIndex = -1

  protected attempts: Attempts | undefined
  protected headSeen = false
  /** The outcome is decided; nothing that arrives later changes it. */
  protected ending = false
  /** What the client is told of a fault of the gateway itself. */
  protected readonly crashCode: ErrorCode = 'internal_error'

  /** Sorts error answers where they are not those of a model's provider. */
  protected readonly classify?: Classify
  /** The approval by which an agent's request runs; null for requests of other keys. */
  protected approval: AgentApproval | null = null

  /** Takes the hold; everything else follows from its answer. */
  start(): void {
    this.services.active.add(this)
    this.exchange.setGoneListener(this)
    if (this.principal.agent === null) this.services.holds.take(this)
    else void this.startWithin(this.principal.agent)
  }

  onHeld(heldUnits: number, heldAtMs: number): void {
    this.heldUnits = heldUnits
    this.heldAtMs = heldAtMs
    if (this.exchange.gone || this.ending) {
      this.settle('failed', NO_BILL, 'client_gone')
      return
    }
    this.held(heldUnits)
    this.services.metrics.noteOverhead(performance.now() - this.exchange.arrivedAt)
    this.serve()
  }

  /** Has a provider serve what is held. */
  protected serve(): void {
    this.attempts = new Attempts({
      transport: this.services.transport,
      health: this.services.health,
      limits: this.services.limits,
      rule: ruleOf(this.metered.endpoint, this.services.paid !== undefined),
      accountId: this.principal.accountId,
      routes: this.metered.routes,
      makeRequest: (route, totalTimeoutMs, fresh) => this.makeRequest(route, totalTimeoutMs, fresh),
      listener: this,
      onFault: this.services.onRouteFault,
      classify: this.classify,
    })
    this.attempts.start()
  }

  onHoldRefused(error: GatewayError): void {
    this.services.metrics.counters.holdsRefused++
    if (error.cause === LOST_ANSWER) this.settle('failed', NO_BILL, error.code)
    this.approval?.release()
    this.close()
    this.failWith(error)
  }

  onAttempt(_route: Route): void {
    this.headSeen = false
    this.provider = ''
  }

  onAnswer(route: Route, headers: UpstreamHeaders): void {
    this.headSeen = true
    this.provider = route.provider.id
    this.answerBegins(headers)
  }

  onRefused(error: GatewayError): void {
    if (this.ending) return
    this.settle('failed', NO_BILL, error.code)
    this.failWith(error)
  }

  onCrashed(error: unknown): void {
    this.services.onCrash(error, this.requestId)
    this.attempts?.cancel()
    const fault = new GatewayError(this.crashCode)
    if (!this.ending) {
      if (this.exchange.begun) this.settle('partial', this.billOfPart(), fault.code)
      else this.settle('failed', NO_BILL, fault.code)
    }
    this.close()
    if (this.exchange.begun) this.endFaulty(fault)
    else this.failWith(fault)
  }

  abstract onData(bytes: Buffer): void
  abstract onEnd(): void
  abstract onBroken(failure: TransportFailure): void
  abstract onGone(): void
  abstract cut(): void
  /** The outcome is in the ledger: the client gets the rest of its answer. */
  abstract onSettled(chargedUnits: number): void
  /** The ledger takes long: the client gets the rest of its answer without a receipt. */
  abstract onSettleDelayed(givenUp: boolean): void
  protected abstract makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest
  protected abstract answerBegins(headers: UpstreamHeaders): void
  /** What was produced so far costs, when a fault of the gateway itself ends an answer that has begun. */
  protected abstract billOfPart(): Bill

  /** The hold is granted, with at most `wantUnits`. */
  protected held(_heldUnits: number): void {}

  /** What tells the client of an answer that has begun about a fault, and ends it; null where nothing can. */
  protected faultEvents(_fault: GatewayError): string | null {
    return null
  }

  protected noteFirstByte(): void {
    if (this.firstByteMs === 0) this.firstByteMs = Math.max(1, Date.now() - this.exchange.startedAtMs)
  }

  /**
   * Ends the request, once. The bill counts for `ok` and `partial`, and never beyond the hold; the others void it.
   * The run is told when the ledger has accepted it.
   */
  protected settle(status: RunStatus, bill: Bill, errorCode: string | null): void {
    this.deliver(this.decide(status, bill, errorCode))
  }

  /** Fixes the outcome, for `deliver` to settle. */
  protected decide(status: RunStatus, bill: Bill, errorCode: string | null): Ending {
    this.ending = true
    this.status = status
    this.errorCode = errorCode
    this.bill = bill
    const charged = status === 'ok' || status === 'partial'
    if (!charged) this.approval?.release()
    this.clamped = charged && bill.units > this.heldUnits
    const chargeUnits = charged ? Math.min(bill.units, this.heldUnits) : VOID
    const { principal } = this
    return {
      requestId: this.requestId,
      owner: this.services.owner,
      accountId: principal.accountId,
      keyId: principal.keyId,
      shard: principal.shard,
      chargeUnits,
      settlement: this.settlement(Math.max(0, chargeUnits)),
    }
  }

  /** Settles a request that the gateway itself ends. */
  protected cutOff(errorCode: string | null): void {
    this.attempts?.cancel()
    // Before the hold is answered there is nothing to settle yet; its answer finds the end decided.
    if (this.attempts === undefined) this.ending = true
    else this.settle('cut', NO_BILL, errorCode)
  }

  protected deliver(ending: Ending): void {
    this.count(ending.chargeUnits)
    this.services.settlements.end(ending, this.principal.keys, this)
  }

  /** The run needs nothing more of the process; it may be called more than once. */
  protected close(): void {
    this.services.active.remove(this)
  }

  protected failWith(error: GatewayError, headers?: HeaderList): void {
    this.services.metrics.noteError(error.row)
    this.exchange.fail(error, headers)
  }

  private endFaulty(fault: GatewayError): void {
    const events = this.faultEvents(fault)
    if (events === null) this.exchange.breakOff()
    else this.exchange.end(Buffer.from(events))
  }

  /** Takes the hold of an agent's request once its policy lets it pass. */
  private async startWithin(policy: AgentPolicy): Promise<void> {
    const { exchange, principal, metered } = this
    this.approval = new AgentApproval(this.services, this.requestId)
    try {
      this.wantUnits = await this.approval.pass(policy, principal.accountId, exchange, metered)
    } catch (error) {
      this.refuseAgent(error)
      return
    }
    if (!exchange.gone && !this.ending) {
      this.services.holds.take(this)
      return
    }
    this.approval?.release()
    this.close()
  }

  private refuseAgent(error: unknown): void {
    const isKnown = error instanceof GatewayError
    if (!isKnown) this.services.onCrash(error, this.requestId)
    if (this.ending) this.close()
    else this.onHoldRefused(isKnown ? error : new GatewayError('internal_error'))
  }

  private count(chargeUnits: number): void {
    const { counters } = this.services.metrics
    counters.ended[this.status]++
    if (this.clamped) counters.clamped++
    if (this.bill.source === 'estimated') counters.estimated++
    if (chargeUnits > 0) counters.chargedUnits += chargeUnits
  }
}
