import { GatewayError } from '../../../contract/errors/errors.ts'
import type {
  AnswerDecorator,
  Exchange,
  FailureAnswer,
  GoneListener,
  HeaderList,
  RequestHead,
} from '../../server/exchange.ts'
import type { RequestTrace } from '../../traces/requestTrace.ts'

/** How a call inside a message ended. */
export type CallOutcome =
  | { readonly kind: 'answer'; readonly body: string; readonly headers: HeaderList }
  | { readonly kind: 'error'; readonly error: GatewayError; readonly asked: FailureAnswer | undefined }

/**
 * A tool call as a request on the connection of its message: an operation serves it like any other request, and its answer
 * becomes the result of the call.
 */
export class CallExchange implements Exchange {
  readonly head: RequestHead
  readonly body: Buffer
  isRecorded = false
  trace: RequestTrace | undefined = undefined
  decorator: AnswerDecorator | null = null
  begun = false
  private readonly outer: Exchange
  private readonly onEnd: (outcome: CallOutcome) => void

  /** @param onEnd called once */
  constructor(outer: Exchange, head: RequestHead, body: Buffer, onEnd: (outcome: CallOutcome) => void) {
    this.outer = outer
    this.head = head
    this.body = body
    this.onEnd = onEnd
  }

  get id(): string {
    return this.outer.id
  }

  get route(): string {
    return this.outer.route ?? ''
  }

  get startedAtMs(): number {
    return this.outer.startedAtMs
  }

  get arrivedAt(): number {
    return this.outer.arrivedAt
  }

  get gone(): boolean {
    return this.outer.gone
  }

  remoteAddress(): string {
    return this.outer.remoteAddress()
  }

  setGoneListener(listener: GoneListener | null): void {
    this.outer.setGoneListener(listener)
  }

  setDrainListener(): void {
    // An answer in one piece is never waited for.
  }

  answer(_status: number, _contentType: string, body: string | Uint8Array, headers?: HeaderList): void {
    if (this.begun) return
    this.begun = true
    const text = typeof body === 'string' ? body : Buffer.from(body).toString('utf8')
    const sent = this.decorator === null ? headers : this.decorator.onSuccess(headers)
    this.onEnd({ kind: 'answer', body: text, headers: sent ?? [] })
  }

  fail(error: GatewayError): void {
    if (this.begun) return
    this.begun = true
    this.onEnd({ kind: 'error', error, asked: this.decorator?.onFailure(error) })
  }

  // Calls are not streamed; should an operation begin one, the call fails.
  beginStream(): void {
    this.fail(new GatewayError('internal_error'))
  }

  write(): boolean {
    return true
  }

  end(): void {
    this.fail(new GatewayError('internal_error'))
  }

  breakOff(): void {
    this.fail(new GatewayError('internal_error'))
  }

  takeBody(): undefined {
    return undefined
  }
}
