import { errorBody, type GatewayError } from '../../contract/errors/errors.ts'
import type { RefusalFigures } from '../../contract/errors/figures.ts'
import type { RequestTrace } from '../traces/requestTrace.ts'
import { bodilessType, closingType, errorHeaders, headValue, statusLine } from './answerFields.ts'
import {
  type AnswerDecorator,
  type BodyLease,
  type DrainListener,
  type Exchange,
  type GoneListener,
  type HeaderList,
  JSON_TYPE,
  type RequestHead,
} from './exchange.ts'
import { assertExchange, type ExchangePhase, isBegun, isClosed, isGone } from './exchangePhase.ts'
import type { ParsedHead } from './head.ts'
import { CORKED_BYTES_MAX, isLarge, LargeAnswer } from './largeAnswer.ts'
import type { OpenAnswers } from './openAnswers.ts'
import { SlowReader, type StreamWriter } from './slowReader.ts'
import type { HttpResponse } from './uws.ts'

/** Headers after the content type of every stream. */
const STREAM_FIELDS = '\r\ncache-control: no-cache\r\nx-accel-buffering: no'
const EVENT_STREAM_HEAD = `text/event-stream; charset=utf-8${STREAM_FIELDS}`

/** The functions of the server that an exchange uses. */
export interface ExchangeHost {
  /** Connections end with their next answer. */
  readonly isLeaving: boolean
  readonly answers: OpenAnswers
  /** Called with every error that a client is answered. */
  readonly onFailed: (error: GatewayError, exchange: Exchange) => void
  /** Called once for every exchange, when its answer has ended or its client has disconnected. */
  readonly onEnded: () => void
}

const EMPTY = Buffer.alloc(0)
const OK = '200 OK'
const NOT_MODIFIED = 304

/** An exchange over uWebSockets.js. All writes happen inside one cork, so that each reaches the socket as one call. */
export class UwsExchange implements Exchange, StreamWriter {
  readonly id: string
  readonly head: RequestHead
  readonly startedAtMs: number
  readonly arrivedAt = performance.now()
  body: Buffer = EMPTY
  isRecorded = false
  route = ''
  trace: RequestTrace | undefined = undefined
  figures: RefusalFigures | undefined = undefined
  decorator: AnswerDecorator | null = null
  limitHeaders: HeaderList | undefined = undefined
  /** The body while it arrives; an upload's body until the end. */
  incoming: BodyLease | undefined

  private readonly res: HttpResponse
  private readonly closes: boolean
  private readonly host: ExchangeHost
  private phase: ExchangePhase = 'open'
  private goneListener: GoneListener | null = null
  private drainListener: DrainListener | null = null
  private slow: SlowReader | undefined
  private large: LargeAnswer | undefined
  private outgoing: Uint8Array | undefined
  private writeOk = true
  private streamHeaders: HeaderList | undefined
  private streamHead = EVENT_STREAM_HEAD
  private readonly corkedWrite = (): void => {
    if (this.phase === 'begun') {
      this.enter('streaming')
      this.writeStreamHead(this.closes || this.host.isLeaving)
    }
    this.writeOk = this.res.write(this.outgoing as Uint8Array)
  }

  /**
   * @param parsed where the end of the body is in doubt (`chunked`), the connection is closed after the answer and serves no
   *   other request. The answer ends in a later turn than the body: once it has ended, the server package parses the bytes
   *   that follow in the same read; while it is open, a second request makes the package close the connection
   */
  constructor(res: HttpResponse, id: string, parsed: ParsedHead, startedAtMs: number, host: ExchangeHost) {
    this.res = res
    this.id = id
    this.head = parsed.head
    this.closes = parsed.chunked
    this.startedAtMs = startedAtMs
    this.host = host
    res.onAborted(() => this.aborted())
  }

  get gone(): boolean {
    return isGone(this.phase)
  }

  get begun(): boolean {
    return isBegun(this.phase)
  }

  remoteAddress(): string {
    if (isClosed(this.phase)) return ''
    return Buffer.from(this.res.getRemoteAddressAsText()).toString('latin1')
  }

  setGoneListener(listener: GoneListener | null): void {
    this.goneListener = listener
  }

  setDrainListener(listener: DrainListener | null): void {
    this.drainListener = listener
    if (listener !== null && !isClosed(this.phase)) this.slow ??= new SlowReader(this.res, this.host.answers, this)
  }

  answer(status: number, contentType: string, body: string | Uint8Array, headers?: HeaderList): void {
    this.finish(status, contentType, body, this.decorator === null ? headers : this.decorator.onSuccess(headers), false)
  }

  fail(error: GatewayError, headers?: HeaderList): void {
    this.host.onFailed(error, this)
    const own = this.decorator?.onFailure(error)
    if (own !== undefined) this.finish(error.status, own.contentType, own.body, errorHeaders(error, own.headers), false)
    else this.finish(error.status, JSON_TYPE, errorBody(error, this.id), errorHeaders(error, headers), false)
  }

  /** Fails a request whose body has not arrived: the rest of it is not read and the connection is closed. */
  refuse(error: GatewayError): void {
    this.host.onFailed(error, this)
    this.finish(error.status, JSON_TYPE, errorBody(error, this.id), errorHeaders(error), true)
  }

  /** Takes no more of the body until `resumeBody`, for a body of which something is missing. */
  pauseBody(): void {
    if (!isClosed(this.phase)) this.res.pause()
  }

  /**
   * Resumes reading the body. The server package then starts a timer of about ten seconds, which only the rest of the body
   * stops.
   */
  resumeBody(): void {
    if (!isClosed(this.phase)) this.res.resume()
  }

  beginStream(headers?: HeaderList, contentType?: string): void {
    if (this.phase !== 'open') return
    if (contentType !== undefined) this.streamHead = contentType + STREAM_FIELDS
    this.enter('begun')
    this.streamHeaders = this.decorator === null ? headers : this.decorator.onSuccess(headers)
  }

  write(bytes: Uint8Array): boolean {
    if (isClosed(this.phase) || this.slow?.isEnding === true) return true
    let rest = bytes
    for (; rest.length > CORKED_BYTES_MAX && this.phase === 'streaming'; rest = rest.subarray(CORKED_BYTES_MAX)) {
      this.write(rest.subarray(0, CORKED_BYTES_MAX))
    }
    if (this.slow?.keep(rest) === true) return false
    if (this.send(rest)) return true
    this.slow ??= new SlowReader(this.res, this.host.answers, this)
    this.slow.stall()
    return false
  }

  end(bytes: Uint8Array): void {
    if (isClosed(this.phase)) return
    if (this.phase === 'begun' && isLarge(bytes) && !this.closes) {
      this.sendLarge(bytes, () => this.writeStreamHead(this.host.isLeaving))
      return
    }
    const fromBytes = Math.max(0, bytes.length - CORKED_BYTES_MAX)
    if (fromBytes > 0) this.write(bytes.subarray(0, fromBytes))
    const last = bytes.subarray(fromBytes)
    if (this.slow?.keepLast(last) !== true) this.sendLast(last)
  }

  breakOff(): void {
    if (isClosed(this.phase)) return
    this.enter('ended')
    this.endRequest()
    this.res.close()
  }

  takeBody(): BodyLease | undefined {
    const body = this.incoming
    this.incoming = undefined
    return body
  }

  send(bytes: Uint8Array): boolean {
    this.outgoing = bytes
    this.res.cork(this.corkedWrite)
    this.outgoing = undefined
    return this.writeOk
  }

  drained(): void {
    this.drainListener?.onDrain()
  }

  sendLast(bytes: Uint8Array): void {
    const headDue = this.phase === 'begun'
    if (this.slow !== undefined && !headDue && !this.closes && bytes.length > 1) {
      if (!this.slow.endOrKeep(bytes)) return
      this.enter('ended')
      this.endRequest()
      return
    }
    const last = this.kept(bytes)
    this.enter('ended')
    this.endWith(() => {
      if (headDue) this.writeStreamHead(this.host.isLeaving)
      // Of a stream that has begun, the server package would write the header that it closes with into the body.
      this.res.end(last, headDue && this.closes)
    })
  }

  /** The head travels with the first bytes. */
  private writeStreamHead(asksToClose: boolean): void {
    const head = asksToClose ? closingType(this.streamHead) : this.streamHead
    this.writeHead(OK, head, this.streamHeaders, asksToClose || this.closes)
  }

  private finish(
    status: number,
    contentType: string,
    body: string | Uint8Array,
    headers: HeaderList | undefined,
    close: boolean,
  ): void {
    if (isClosed(this.phase)) return
    const isClosing = close || this.closes
    const isLast = isClosing || this.host.isLeaving
    const bodiless = this.head.method === 'HEAD' || status === NOT_MODIFIED
    if (!isClosing && !bodiless && isLarge(body)) {
      const type = isLast ? closingType(contentType) : contentType
      this.sendLarge(body, () => this.writeHead(statusLine(status), type, headers, isLast))
      return
    }
    this.enter('ended')
    const own = this.kept(body)
    const length = bodiless ? Buffer.byteLength(own) : 0
    const type = bodiless && !isLast ? bodilessType(contentType, length) : contentType
    this.endWith(() => {
      this.writeHead(statusLine(status), type, headers, isLast)
      if (!bodiless) this.res.end(own, isLast)
      else if (isLast) this.res.endWithoutBody(length, true)
      else this.res.endWithoutBody()
    })
  }

  private sendLarge(body: string | Uint8Array, writeHead: () => void): void {
    this.enter('ending')
    this.slow?.release()
    this.large = new LargeAnswer(this.res, this.host.answers, body, () => {
      this.enter('ended')
      this.endRequest()
    })
    this.large.begin(writeHead)
  }

  /** Bytes that outlast the call: an answer that ends in a later turn would send what another stream has put in their place. */
  private kept(bytes: string | Uint8Array): string | Uint8Array {
    return this.closes && typeof bytes !== 'string' ? Buffer.from(bytes) : bytes
  }

  private endWith(write: () => void): void {
    if (!this.closes) {
      this.res.cork(write)
      this.endRequest()
      return
    }
    setImmediate(() => {
      if (!this.gone) this.res.cork(write)
      this.endRequest()
    })
  }

  private endRequest(): void {
    this.slow?.release()
    this.large?.release()
    this.incoming?.release()
    this.incoming = undefined
    this.host.onEnded()
  }

  private writeHead(line: string, contentType: string, headers: HeaderList | undefined, isLast: boolean): void {
    // The server package writes 200 of its own accord.
    if (line !== OK) this.res.writeStatus(line)
    this.res.writeHeader('content-type', headValue(contentType, this, headers, isLast))
  }

  private aborted(): void {
    if (this.gone) return
    const wasOpen = this.phase !== 'ended'
    this.enter(this.begun ? 'gone' : 'left')
    if (wasOpen) this.endRequest()
    // One that ends in a later turn is among the open answers until then.
    else this.slow?.release()
    this.goneListener?.onGone()
  }

  private enter(phase: ExchangePhase): void {
    assertExchange(this.phase, phase)
    this.phase = phase
  }
}
