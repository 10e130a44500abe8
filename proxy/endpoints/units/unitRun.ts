import type { Principal } from '../../access/principal.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { openaiHeaders } from '../../dialects/openai/openaiHeaders.ts'
import type { BodyLease, Exchange } from '../../server/exchange.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import { DetachableRun } from '../run/detachableRun.ts'
import type { Metered } from '../run/metered.ts'
import type { RunServices } from '../run/services.ts'
import type { UnitPlan } from './operation.ts'

/** A request of an operation, whatever becomes of its answer. */
export abstract class UnitRun<Plan extends UnitPlan> extends DetachableRun {
  protected readonly plan: Plan
  private readonly upload: BodyLease | undefined

  constructor(exchange: Exchange, principal: Principal, metered: Metered<Model>, plan: Plan, services: RunServices) {
    super(exchange, principal, metered, services)
    this.plan = plan
    // The file may be sent again to another route after its client has gone.
    this.upload = exchange.takeBody()
  }

  protected makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    const { provider } = route
    const { path, contentType, accept, body } = this.plan.ask(route)
    const asked = { path, headers: openaiHeaders(provider, contentType, accept), requestId: this.requestId, body }
    return postRequest(provider, asked, this.services.limits, totalTimeoutMs, fresh)
  }

  protected override close(): void {
    this.upload?.release()
    super.close()
  }
}
