import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { BodyLease, DrainListener, Exchange } from '../../server/exchange.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import type { CallListener, ProviderCall } from '../run/providerCall.ts'
import { Run, type RunListener } from '../run/run.ts'
import type { RunServices } from '../run/services.ts'
import type { UnitPlan } from './operation.ts'
import { unitRequest } from './unitRequest.ts'

/** A plan whose answer is relayed as it arrives. */
interface RelayedPlan extends UnitPlan {
  readonly answerBytesMax: number
}

/** A request whose answer is relayed as it arrives, within a bound. */
export abstract class RelayedRun<Plan extends RelayedPlan> implements RunListener, CallListener, DrainListener {
  protected readonly run: Run
  protected readonly call: ProviderCall
  protected readonly plan: Plan
  protected bytesLeft: number
  /** The client has received the beginning of the answer. */
  protected begun = false
  private readonly upload: BodyLease | undefined

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: Plan, services: RunServices) {
    this.run = new Run(exchange, principal, metered, services, this)
    this.call = this.run.callFor(this)
    this.plan = plan
    this.bytesLeft = plan.answerBytesMax
    // Failover may send it to another route after its client has disconnected.
    this.upload = exchange.takeBody()
  }

  start(): void {
    this.run.start()
  }

  serve(): void {
    this.call.start()
  }

  makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    return unitRequest(this.run, this.plan, route, totalTimeoutMs, fresh)
  }

  onAttempt(): void {
    this.bytesLeft = this.plan.answerBytesMax
  }

  onDrain(): void {
    this.call.resume()
  }

  onDone(): void {
    this.upload?.release()
  }

  abstract onAnswer(headers: UpstreamHeaders): void
  abstract onData(bytes: Buffer): void
  abstract onEnd(): void
  abstract onBroken(): void
  abstract onGone(): void
  abstract onCut(): void
  abstract onSettled(outcome: Outcome, chargedUnits: number): void
  abstract onSettleDelayed(): void
  abstract billOfPart(): Bill

  /** Passes bytes to the client, who may make the provider wait. */
  protected relay(bytes: Buffer): void {
    const { exchange, services } = this.run
    services.metrics.counters.chunksOut++
    if (exchange.write(bytes)) return
    this.call.pause()
    exchange.setDrainListener(this)
  }
}
