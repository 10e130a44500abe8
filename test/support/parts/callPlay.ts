import type { GatewayError } from '../../../contract/errors/errors.ts'
import { assertChange, type Phase } from '../../../proxy/endpoints/run/phase.ts'
import { type CallingRun, type CallListener, ProviderCall } from '../../../proxy/endpoints/run/providerCall.ts'
import { TransportFailure } from '../../../proxy/upstream/transport/transport.ts'
import { RecordedExchange } from './recordedExchange.ts'
import { metered, RunWorld, testPrincipal, testRequest } from './runWorld.ts'

export const HEADERS = { get: () => undefined }
export const RESET = new TransportFailure('malformed')

/** A run of a provider call whose listener writes down what it hears, and in which phase. */
export class Play implements CallingRun, CallListener {
  readonly world = new RunWorld()
  readonly exchange = new RecordedExchange()
  readonly principal = testPrincipal()
  metered = metered
  routes = metered.routes
  /** How many other models may be asked yet, each over the same routes; null where the request names none. */
  othersLeft: number | null = null
  /** The requests of another model, where they are written elsewhere. */
  written: Promise<void> | undefined
  readonly services = this.world.services
  readonly call = new ProviderCall(this, this)
  readonly heard: string[] = []
  readonly crashes: unknown[] = []
  readonly makeRequest = testRequest
  phase: Phase = 'calling'

  enter(to: Phase): void {
    assertChange(this.phase, to)
    this.phase = to
  }

  refuse(error: GatewayError): void {
    this.heard.push(`refused ${error.row}`)
  }

  crash(error: unknown): void {
    this.crashes.push(error)
    this.call.cancel()
  }

  fallBack(error: GatewayError): boolean | Promise<void> {
    if (this.othersLeft === null) return false
    this.note(`may another model serve after ${error.row}?`)
    return this.othersLeft-- > 0 && (this.written ?? true)
  }

  onAttempt(): void {
    this.note('attempt')
  }

  onAnswer(): void {
    this.note(`answer of ${this.call.route?.provider.id}`)
  }

  onData(bytes: Buffer): void {
    this.note(`data ${bytes.toString()}`)
  }

  onEnd(): void {
    this.note('end')
  }

  onBroken(): void {
    this.note('broken')
  }

  private note(what: string): void {
    this.heard.push(`${this.phase}: ${what}`)
  }
}
