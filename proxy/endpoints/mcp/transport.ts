import {
  INTERNAL_ERROR,
  type JSONRPCMessage,
  type JSONRPCRequest,
  type MessageClassification,
  PerRequestHTTPServerTransport,
} from '@modelcontextprotocol/server'
import { type Exchange, JSON_TYPE } from '../../server/exchange.ts'
import { errorText, faultStatus, type RpcError, resultText } from './protocol.ts'

const INTERNAL = { code: INTERNAL_ERROR, message: 'Internal error' }

/**
 * The transport of one request over its exchange: the library's answer is written as one JSON body. By the class that it
 * extends, a server recognizes a request of the revision without a handshake.
 */
export class ExchangeTransport extends PerRequestHTTPServerTransport {
  private readonly exchange: Exchange
  private readonly id: string
  private readonly revision: MessageClassification | undefined
  private isDelivering = false
  private onAnswered: (() => void) | null = null

  /**
   * @param id of the request, as JSON, exactly as it was sent
   * @param revision undefined for those that begin with a handshake
   */
  constructor(exchange: Exchange, id: string, revision: MessageClassification | undefined) {
    super({ classification: revision ?? { era: 'legacy' } })
    this.exchange = exchange
    this.id = id
    this.revision = revision
  }

  /** Hands the request to the server that is connected, and waits for its answer. */
  deliver(request: JSONRPCRequest): Promise<void> {
    return new Promise((resolve) => {
      this.onAnswered = resolve
      // Errors of a request are reported immediately; its method runs later.
      this.isDelivering = true
      this.onmessage?.(request, this.revision && { classification: this.revision })
      this.isDelivering = false
    })
  }

  /** Notifications have no place in an answer of one body, and are not sent. */
  override send(message: JSONRPCMessage): Promise<void> {
    if ('result' in message) this.answer(200, resultText(this.id, message.result))
    if ('error' in message) this.fail(message.error)
    return Promise.resolve()
  }

  /** Answers with an error, unless there is an answer. */
  fail({ code, message, data }: Pick<RpcError, 'code' | 'message'> & { readonly data?: unknown } = INTERNAL): void {
    const status = this.isDelivering ? faultStatus(code, this.revision !== undefined) : 200
    this.answer(status, errorText(this.id, { code, message, data }))
  }

  private answer(status: number, text: string): void {
    const { onAnswered } = this
    if (onAnswered === null) return
    this.onAnswered = null
    this.exchange.answer(status, JSON_TYPE, text)
    onAnswered()
  }
}
