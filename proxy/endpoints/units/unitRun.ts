import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/catalog.ts'
import type { BodyLease, Exchange } from '../../server/exchange.ts'
import { openaiHeaders } from '../../upstream/dialects/openaiHeaders.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport.ts'
import { NO_BILL } from '../run/bill.ts'
import { type Metered, MeteredRun } from '../run/meteredRun.ts'
import type { RunServices } from '../run/services.ts'
import type { UnitPlan } from './operation.ts'

/** A request of an operation, whatever becomes of its answer. */
export abstract class UnitRun<Plan extends UnitPlan> extends MeteredRun {
  protected readonly plan: Plan
  /** The client has gone, and the answer is awaited all the same because the provider bills for it. */
  protected detached = false
  private readonly upload: BodyLease | undefined

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: Plan, services: RunServices) {
    super(exchange, principal, metered, services)
    this.plan = plan
    // The file may be sent again to another route after its client has gone.
    this.upload = exchange.takeBody()
  }

  protected makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    const { provider } = route
    const { limits } = this.services
    const { path, contentType, accept, body } = this.plan.ask(route)
    return {
      origin: provider.origin,
      host: provider.host,
      path: provider.basePath + path,
      method: 'POST',
      headers: openaiHeaders(provider, this.requestId, contentType, accept),
      body,
      connectTimeoutMs: limits.connectTimeoutMs,
      firstByteTimeoutMs: limits.firstByteTimeoutMs,
      idleTimeoutMs: limits.idleTimeoutMs,
      totalTimeoutMs,
      fresh,
    }
  }

  /** Goes on without a client, if there is room. @returns whether it does */
  protected detach(): boolean {
    const { counters } = this.services.metrics
    if (counters.detached >= this.services.limits.detachedRequestsMax) return false
    counters.detached++
    this.detached = true
    return true
  }

  /** Settles a request that the gateway itself ends. */
  protected cutOff(errorCode: string | null): void {
    this.attempts?.cancel()
    // Before the hold is answered there is nothing to settle yet; its answer finds the end decided.
    if (this.attempts === undefined) this.ending = true
    else this.settle('cut', NO_BILL, errorCode)
  }

  protected override close(): void {
    if (this.detached) this.services.metrics.counters.detached--
    this.detached = false
    this.upload?.release()
    super.close()
  }
}

/** Whether an answer is sent as it is: a provider that compresses, though asked not to, cannot be read. */
export function isPlain(headers: UpstreamHeaders): boolean {
  return (headers.get('content-encoding')?.toLowerCase() ?? 'identity') === 'identity'
}
