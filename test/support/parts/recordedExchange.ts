import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { DrainListener, Exchange, GoneListener, HeaderList, RequestHead } from '../../../proxy/server/exchange.ts'

const HEAD = { method: 'POST', path: '/v1/test', host: '127.0.0.1', contentType: 'application/json', approvalId: '' }

/** An exchange without a socket that notes what its client is told, and whose client leaves when the test says so. */
export class RecordedExchange implements Exchange {
  readonly id = 'req_1'
  readonly startedAtMs = Date.now()
  readonly arrivedAt = performance.now()
  readonly head = HEAD as RequestHead
  readonly body = Buffer.alloc(0)
  isRecorded = false
  readonly decorator = null
  gone = false
  begun = false
  /** How the answer ended: its status, the code of an error, `end` or `break`. More than one is a fault. */
  readonly ends: string[] = []
  readonly headers: string[] = []
  /** What the client has got of the answer. */
  text = ''
  /** Whether the client reads as fast as it is written to. */
  keepsUp = true
  /** Thrown by the next write. */
  fault: Error | undefined
  drain: DrainListener | null = null
  private goneListener: GoneListener | null = null

  /** The client closes the connection. */
  leave(): void {
    if (this.gone) return
    this.gone = true
    this.goneListener?.onGone()
  }

  answer(status: number, _contentType: string, body: string | Uint8Array, headers: HeaderList = []): void {
    this.finish(String(status), String(body), headers)
  }

  fail(error: GatewayError, headers: HeaderList = []): void {
    this.finish(error.row, '', headers)
  }

  beginStream(): void {
    if (!this.gone) this.begun = true
  }

  write(bytes: Uint8Array): boolean {
    const { fault } = this
    this.fault = undefined
    if (fault !== undefined) throw fault
    if (!this.isOver) this.text += Buffer.from(bytes).toString()
    return this.keepsUp
  }

  end(bytes: Uint8Array): void {
    this.finish('end', Buffer.from(bytes).toString(), [])
  }

  breakOff(): void {
    this.finish('break', '', [])
  }

  setGoneListener(listener: GoneListener | null): void {
    this.goneListener = listener
  }

  setDrainListener(listener: DrainListener | null): void {
    this.drain = listener
  }

  remoteAddress(): string {
    return ''
  }

  takeBody(): undefined {
    return undefined
  }

  private get isOver(): boolean {
    return this.gone || this.ends.length > 0
  }

  private finish(how: string, text: string, headers: HeaderList): void {
    if (this.isOver) return
    this.begun = true
    this.ends.push(how)
    this.text += text
    this.headers.push(...headers)
  }
}
