import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import type { ScanBounds } from '../../json/answerScan.ts'
import { AnswerBody } from '../../upstream/answerBody.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import type { UpstreamHeaders, UpstreamRequest } from '../../upstream/transport/transport.ts'
import { type CallListener, NO_MEMORY, type ProviderCall } from './providerCall.ts'
import type { Run } from './run.ts'

/** The listener of a call whose answer is read to its end. */
export interface WholeListener {
  makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest
  /** The answer is complete. Phase `answering`: it is either committed or rejected. */
  onWhole(body: AnswerJson): void
  /** As of CallListener. */
  fallBack?(error: GatewayError): boolean | Promise<void>
  /** As of CallListener. */
  onRefused?(error: GatewayError): void
  readonly outputTokensMax?: number
}

/**
 * A call whose answer is read to its end before it is processed; an answer that is too long is rejected, and one that no
 * memory is left for ends the request.
 */
export class WholeCall implements CallListener {
  readonly call: ProviderCall
  private readonly run: Run
  private readonly listener: WholeListener
  private readonly bytesMax: () => number
  private readonly bounds: ScanBounds | undefined
  private body: AnswerBody

  /**
   * @param bytesMax of an answer; asked once the request is held
   * @param bounds of its JSON, checked while it arrives; absent for answers of some KiB
   */
  constructor(run: Run, listener: WholeListener, bytesMax: () => number, bounds?: ScanBounds) {
    this.run = run
    this.listener = listener
    this.bytesMax = bytesMax
    this.bounds = bounds
    this.body = new AnswerBody(run.services.answers, bounds)
    this.call = run.callFor(this)
  }

  get outputTokensMax(): number | undefined {
    return this.listener.outputTokensMax
  }

  makeRequest(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    return this.listener.makeRequest(route, totalTimeoutMs, fresh)
  }

  onAttempt(): void {
    this.body.clear()
    const { answers, registeredAnswers } = this.run.services
    const memory = this.call.asked?.registered === undefined ? answers : registeredAnswers
    if (!this.body.isIn(memory)) this.body = new AnswerBody(memory, this.bounds)
  }

  onAnswer(headers: UpstreamHeaders): void {
    if (headers.unreadable === true) this.call.reject(refusalOfError(null))
  }

  onData(bytes: Buffer): void {
    const excess = this.body.add(bytes, this.bytesMax())
    if (excess === 'too_long') this.call.reject(refusalOfError(null))
    else if (excess === 'no_memory') this.call.reject(NO_MEMORY)
  }

  onEnd(): void {
    if (this.body.length <= this.run.services.limits.answerAtOnceBytesMax) this.listener.onWhole(this.body.takeJson())
    else this.call.later(this.body.gather(), (body) => this.listener.onWhole(body))
  }

  fallBack(error: GatewayError): boolean | Promise<void> {
    return this.listener.fallBack?.(error) ?? false
  }

  onClosed(): void {
    this.body.clear()
  }

  onRefused(error: GatewayError): void {
    if (this.listener.onRefused === undefined) this.run.refuse(error)
    else this.listener.onRefused(error)
  }
}
