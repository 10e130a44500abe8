import { GatewayError } from '../../../contract/errors/errors.ts'
import { CLIENT_GONE } from '../../../contract/money/receiptStatus.ts'
import type { SaltedTagging } from '../../../contract/money/tags.ts'
import type { Principal } from '../../access/principal.ts'
import { LOST_ANSWER } from '../../admission/holds.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { Exchange, GoneListener, HeaderList } from '../../server/exchange.ts'
import { ownRoutes } from '../../upstream/chooseRoutes.ts'
import type { ActiveRun } from './activeRuns.ts'
import { type Bill, NO_BILL, type RunStatus } from './bill.ts'
import { HoldLife, type HoldListener } from './holdLife.ts'
import type { Metered } from './metered.ts'
import { NOBODY, Outcome } from './outcome.ts'
import { assertChange, isDecided, isServed, type Phase } from './phase.ts'
import { type CallingRun, type CallListener, ProviderCall } from './providerCall.ts'
import type { RunListener } from './runListener.ts'
import type { RunServices } from './services.ts'
import { taggingOf } from './tagging.ts'

/**
 * A metered request: it combines the life of its hold, the call to a provider and the outcome, and knows its phase. An
 * operation has a run, which calls it back.
 */
export class Run implements CallingRun, HoldListener, GoneListener, ActiveRun {
  activeIndex = -1
  readonly exchange: Exchange
  readonly principal: Principal
  metered: Metered
  readonly services: RunServices
  readonly tagging: SaltedTagging | undefined
  readonly hold: HoldLife

  private readonly operation: RunListener
  private call: ProviderCall | null = null
  private outcome: Outcome | null = null
  private current: Phase = 'admitting'
  /** From the request's arrival to its provider's being called; 0 before. */
  private admissionMs = 0

  /** @throws GatewayError 400 for tags that are refused; nothing is held then */
  constructor(
    exchange: Exchange,
    principal: Principal,
    metered: Metered,
    services: RunServices,
    operation: RunListener,
  ) {
    this.exchange = exchange
    this.principal = principal
    this.metered = metered
    this.services = services
    this.operation = operation
    this.tagging = taggingOf(principal, exchange.head, metered.tagging, services.limits)
    this.hold = new HoldLife(this, this)
  }

  get routes(): readonly Route[] {
    const { lock, routes } = this.metered
    if (lock !== undefined && this.hold.lockUnits > 0) return lock.routes
    // Registered providers are paid in coin, so that credits never pay them.
    return this.hold.creditUnits > 0 ? ownRoutes(routes) : routes
  }

  get phase(): Phase {
    return this.current
  }

  /** The route that answers, or was asked last; null before any is. */
  get asked(): Route | null {
    return this.call?.asked ?? null
  }

  enter(phase: Phase): void {
    assertChange(this.current, phase)
    this.current = phase
  }

  /** Another model serves: its routes are asked, and its price sheet counts. The hold stays. */
  serveBy(metered: Metered): void {
    this.metered = metered
  }

  /** The call by which the request is served; an operation that asks no provider has none. */
  callFor(listener: CallListener): ProviderCall {
    this.call = new ProviderCall(this, listener)
    return this.call
  }

  /** Takes the hold; everything else follows from its answer. */
  start(): void {
    this.services.active.add(this)
    this.exchange.setGoneListener(this)
    this.hold.take()
  }

  /** The request ends, but its cost is not known yet: later events are ignored. */
  beginEnding(): void {
    if (this.current !== 'ending') this.enter('ending')
  }

  /** Fixes the outcome, for `deliver` to settle; it can be replaced only before that. */
  decide(status: RunStatus, bill: Bill, errorCode: string | null): Outcome {
    this.beginEnding()
    const outcome = new Outcome(this, this.hold, this.call ?? NOBODY, { status, bill, errorCode })
    if (!outcome.isCharged) this.hold.release()
    this.outcome = outcome
    return outcome
  }

  /** Settles the outcome, once; the operation is notified when the ledger has accepted it. */
  deliver(outcome: Outcome): void {
    this.enter('settling')
    outcome.count(this.services.metrics, this.admissionMs)
    this.hold.end(outcome)
  }

  /** Ends the request: fixes the outcome and settles it. */
  settle(status: RunStatus, bill: Bill, errorCode: string | null): void {
    this.deliver(this.decide(status, bill, errorCode))
  }

  /** Hands the hold over to another owner, who ends it: the request is done. */
  handOver(): void {
    this.beginEnding()
    this.enter('settling')
    this.close()
  }

  /** Gives up an answer that no client waits for any more. */
  leave(bill: Bill): void {
    this.call?.cancel()
    this.settle('partial', bill, CLIENT_GONE)
  }

  /** Ends a request because the process leaves. Before its hold is answered there is nothing to settle yet. */
  cutOff(errorCode: string | null): void {
    this.call?.cancel()
    if (this.current === 'admitting') this.enter('ending')
    else this.settle('cut', NO_BILL, errorCode)
  }

  /** The same, for a client that has received nothing of its answer. */
  cutUnanswered(): void {
    if (isDecided(this.current)) return
    const fault = new GatewayError('gateway_restarting')
    this.cutOff(fault.code)
    this.fail(fault)
  }

  refuse(error: GatewayError): void {
    this.settle('failed', NO_BILL, error.code)
    this.fail(error)
  }

  /** Answers the client with an error. */
  fail(error: GatewayError, headers?: HeaderList): void {
    this.services.metrics.noteError(error.row)
    this.exchange.fail(error, headers)
  }

  crash(error: unknown): void {
    const { exchange, operation } = this
    this.noteCrash(error)
    this.call?.cancel()
    const fault = new GatewayError(operation.crashCode ?? 'internal_error')
    const { begun } = exchange
    this.attempt(() => this.settleCrashed(begun, fault))
    this.attempt(() => this.close())
    if (!begun) this.fail(fault)
    else if (operation.faultEvents === undefined) exchange.breakOff()
    else exchange.end(Buffer.from(operation.faultEvents(fault)))
  }

  onHeld(): void {
    if (this.exchange.gone || this.current !== 'admitting') {
      this.settle('failed', NO_BILL, CLIENT_GONE)
      return
    }
    this.enter('calling')
    this.admissionMs = performance.now() - this.exchange.arrivedAt
    this.services.metrics.noteAdmission(this.admissionMs)
    this.operation.serve(this.hold.heldUnits, this.hold.lockUnits)
  }

  onHoldRefused(error: GatewayError): void {
    this.services.metrics.counters.holdsRefused++
    this.exchange.figures = this.hold.figures
    if (error.cause === LOST_ANSWER) this.settle('failed', NO_BILL, error.code)
    this.hold.release()
    this.close()
    this.fail(error)
  }

  onHoldSpared(): void {
    this.close()
  }

  onSettled(chargedUnits: number): void {
    if (this.current === 'done' || this.outcome === null) return
    this.closeAfter(this.operation.onSettled?.(this.outcome, chargedUnits))
  }

  onSettleDelayed(): void {
    if (this.current === 'done' || this.outcome === null) return
    this.closeAfter(this.operation.onSettleDelayed?.(this.outcome))
  }

  onCrashed(error: unknown): void {
    this.crash(error)
  }

  // Before the hold is answered there is nothing to end; its answer finds the client disconnected.
  onGone(): void {
    if (isServed(this.current)) this.guarded(() => this.operation.onGone?.())
  }

  cut(): void {
    this.guarded(() => this.operation.onCut?.())
  }

  private settleCrashed(begun: boolean, fault: GatewayError): void {
    if (this.current === 'settling' || this.current === 'done') return
    const bill = begun ? this.billOfPart() : null
    if (bill === null) this.settle('failed', NO_BILL, fault.code)
    else this.settle('partial', bill, fault.code)
  }

  /** @returns null when the operation cannot compute the cost so far; nothing is charged then */
  private billOfPart(): Bill | null {
    try {
      return this.operation.billOfPart?.() ?? NO_BILL
    } catch (error) {
      this.noteCrash(error)
      return null
    }
  }

  private closeAfter(rest: void | Promise<void>): void {
    if (rest === undefined) this.close()
    else rest.then(() => this.close()).catch((error: unknown) => this.crash(error))
  }

  private close(): void {
    if (this.current === 'done') return
    this.enter('done')
    this.services.active.remove(this)
    const usedTokens = this.outcome?.usedTokens
    this.call?.close(usedTokens)
    this.hold.endPermit(usedTokens ?? 0)
    this.operation.onDone?.()
  }

  /** Calls the operation where its exceptions would not be caught otherwise. */
  private guarded(call: () => void): void {
    try {
      call()
    } catch (error) {
      this.crash(error)
    }
  }

  /** A step of ending a failed request; the other steps follow even if it throws. */
  private attempt(step: () => void): void {
    try {
      step()
    } catch (error) {
      this.noteCrash(error)
    }
  }

  private noteCrash(error: unknown): void {
    this.services.onCrash(error, this.hold.requestId)
  }
}
