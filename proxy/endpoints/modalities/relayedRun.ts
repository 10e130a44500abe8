import type { Principal } from '../../access/principal.ts'
import type { DrainListener, Exchange } from '../../server/exchange.ts'
import type { UpstreamHeaders } from '../../upstream/transport/transport.ts'
import type { Metered } from '../run/metered.ts'
import type { CallListener, ProviderCall } from '../run/providerCall.ts'
import type { RunServices } from '../run/services.ts'
import type { UnitPlan } from './operation.ts'
import { UnitRun } from './unitRun.ts'

/** A plan whose answer is relayed as it arrives. */
interface RelayedPlan extends UnitPlan {
  readonly answerBytesMax: number
}

/** A request whose answer is relayed as it arrives, within a bound. */
export abstract class RelayedRun<Plan extends RelayedPlan>
  extends UnitRun<Plan>
  implements CallListener, DrainListener
{
  protected readonly call: ProviderCall
  protected bytesLeft: number
  /** The client has received the beginning of the answer. */
  protected begun = false

  constructor(exchange: Exchange, principal: Principal, metered: Metered, plan: Plan, services: RunServices) {
    super(exchange, principal, metered, plan, services)
    this.call = this.run.callFor(this)
    this.bytesLeft = plan.answerBytesMax
  }

  onAttempt(): void {
    this.bytesLeft = this.plan.answerBytesMax
  }

  onDrain(): void {
    this.call.resume()
  }

  abstract onAnswer(headers: UpstreamHeaders): void
  abstract onData(bytes: Buffer): void
  abstract onEnd(): void
  abstract onBroken(): void

  /** Passes bytes to the client, who may make the provider wait. */
  protected relay(bytes: Buffer): void {
    const { exchange, services } = this.run
    services.metrics.counters.chunksOut++
    if (exchange.write(bytes)) return
    this.call.pause()
    exchange.setDrainListener(this)
  }
}
