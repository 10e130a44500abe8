import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { BodyLease, Exchange, HeaderList } from '../../server/exchange.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { Bill } from '../run/bill.ts'
import type { Metered } from '../run/metered.ts'
import type { Outcome } from '../run/outcome.ts'
import type { ProviderCall } from '../run/providerCall.ts'
import { Run } from '../run/run.ts'
import type { RunListener } from '../run/runListener.ts'
import type { RunServices } from '../run/services.ts'
import { droppedHeader } from './beside.ts'
import type { UnitPlan } from './operation.ts'
import { unitRequest } from './unitRequest.ts'

/** A request of an operation that is billed by units: its run, and the call of its provider. */
export abstract class UnitRun<Plan extends UnitPlan> implements RunListener {
  protected readonly run: Run
  protected readonly plan: Plan
  protected abstract readonly call: ProviderCall
  private readonly upload: BodyLease | undefined

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: Plan, services: RunServices) {
    this.run = new Run(exchange, principal, metered, services, this)
    this.plan = plan
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

  /** The header that names the members which the provider did not get. */
  protected get dropped(): HeaderList {
    return droppedHeader(this.run.asked, this.plan.beside)
  }

  onDone(): void {
    this.upload?.release()
  }

  abstract onGone(): void
  abstract onCut(): void
  abstract onSettled(outcome: Outcome, chargedUnits: number): void
  abstract onSettleDelayed(): void
  abstract billOfPart(): Bill
}
