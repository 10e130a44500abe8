import type { GatewayError } from '../../contract/errors/errors.ts'
import type { RefusalFigures } from '../../contract/errors/figures.ts'
import type { RequestTrace } from '../traces/requestTrace.ts'

/** The content type of answers in JSON. */
export const JSON_TYPE = 'application/json; charset=utf-8'

/** The most headers of a request that the HTTP server package accepts; it answers 431 itself above that. */
export const HEADERS_MAX = 98

/**
 * The most bytes of a request's head that the HTTP server package accepts, all lines together; it answers 431 itself above
 * that. Heads with payments have several KiB. The package reads it from the environment when it is loaded.
 */
export const HEAD_BYTES_MAX = 32_768

/**
 * How long clients are asked to keep a connection that is not used, in seconds. The HTTP server package closes it after 9 to
 * 11 s, which it has no setting for.
 */
export const KEEP_ALIVE_SECONDS = 8

/** The parts of a request's head that endpoints read. Names are lower case; an absent header is an empty string. */
export interface RequestHead {
  readonly method: string
  /** Decoded path without query and without a trailing slash. */
  readonly path: string
  readonly query: string
  readonly authorization: string
  readonly apiKey: string
  readonly contentType: string
  readonly origin: string
  readonly host: string
  /** An x402 payment; several are joined by commas. */
  readonly paymentSignature: string
  /** A payment of x402 version 1 was sent, as X-PAYMENT; absent is not. */
  readonly hasPaymentV1?: boolean
  readonly acceptPayment: string
  /** x-erc8004-agent. */
  readonly agent: string
  readonly idempotencyKey: string
  readonly approvalId: string
  readonly forwardedFor: string
  readonly ifNoneMatch: string
  /** MCP-Protocol-Version. */
  readonly mcpVersion: string
  /** Mcp-Method and Mcp-Name: the method of an MCP message and its name, as the client states them for intermediaries. */
  readonly mcpMethod: string
  readonly mcpName: string
  /** The session of the client, by the first of the headers that name one; absent is ''. */
  readonly session?: string
  /** x-sluice-tags; absent is ''. */
  readonly tags?: string
  /** Absent is ''. */
  readonly traceParent?: string
  readonly traceState?: string
}

/** Extra response headers: name, value, name, value. */
export type HeaderList = readonly string[]

/** An answer to a failed request in place of the usual one; the status is the error's. */
export interface FailureAnswer {
  readonly contentType: string
  readonly body: string
  readonly headers: HeaderList
}

/** Headers and members that a payment adds to the answer of its request. */
export interface AnswerDecorator {
  /** The headers of an answer that succeeds. */
  onSuccess(headers: HeaderList | undefined): HeaderList | undefined
  /** @returns undefined for the usual answer */
  onFailure(error: GatewayError): FailureAnswer | undefined
}

/** Called when the client closes the connection before the answer has ended. */
export interface GoneListener {
  onGone(): void
}

/** Called when a client that read too slowly can take bytes again. */
export interface DrainListener {
  onDrain(): void
}

/** Memory that an upload takes until it is released. */
export interface BodyLease {
  release(): void
}

/**
 * One request and its answer. Exactly one of `answer`, `fail`, or `beginStream` followed by `end` finishes it; calls after
 * the client has disconnected do nothing.
 */
export interface Exchange {
  /** The request id, which is also the receipt id. */
  readonly id: string
  readonly head: RequestHead
  readonly startedAtMs: number
  /** The whole body while the handler runs, empty afterwards. */
  readonly body: Buffer
  /** The same moment on the clock of performance.now(), for durations below a millisecond. */
  readonly arrivedAt: number
  /** The client has closed the connection. */
  readonly gone: boolean
  /** The status is decided; the head of a stream travels with its first bytes. */
  readonly begun: boolean
  /** It has ended with a hold, so that it has a receipt; the access log and the traces have it. */
  isRecorded: boolean
  /** Of a request that was refused a hold; absent for others. */
  figures?: RefusalFigures | undefined
  /** The pattern of its path; absent where no route has it. */
  readonly route?: string
  /** Absent where no traces are made. */
  trace?: RequestTrace | undefined
  /** Asked about the answer before it is sent. */
  decorator: AnswerDecorator | null
  /** Headers of every answer to the request, errors included; absent for none. */
  limitHeaders?: HeaderList | undefined
  /** The address of the connection's peer, or an empty string once the client has disconnected. */
  remoteAddress(): string
  setGoneListener(listener: GoneListener | null): void
  setDrainListener(listener: DrainListener | null): void
  /** Sends a whole answer, whose bytes are the caller's again when the call returns; a 304 and the answer to HEAD state the length of the body and leave it out. */
  answer(status: number, contentType: string, body: string | Uint8Array, headers?: HeaderList): void
  /** Sends an error of the error table in the error shape. */
  fail(error: GatewayError, headers?: HeaderList): void
  /** Begins a stream with status 200, an event stream unless another content type is named. */
  beginStream(headers?: HeaderList, contentType?: string): void
  /**
   * Sends bytes of a stream; they are copied before the call returns.
   * @returns false when the client reads too slowly: send nothing more until onDrain
   */
  write(bytes: Uint8Array): boolean
  /** Sends the last bytes of a stream, which are the caller's again when the call returns, and ends it. */
  end(bytes: Uint8Array): void
  /** Closes the connection of a stream that has no end, so that its client knows that bytes are missing. */
  breakOff(): void
  /**
   * The memory that the body of an upload takes. It is released at the end of the answer, unless a caller that needs the
   * body for longer has taken it; undefined when it has been released or taken, and for other bodies.
   */
  takeBody(): BodyLease | undefined
}

/** Answers one request; the body is empty for methods without one. A throw or rejection answers 500. */
export type Handler = (exchange: Exchange, body: Buffer) => void | Promise<void>

/** The kind of sender: with a proven credential, a stranger, or refused by the request's head. */
export type Sender = 'customer' | 'stranger' | GatewayError

/**
 * Checks the sender by the request's head alone, before more than a little of the body is read; the handler checks all of it
 * again.
 */
export type Precheck = (head: RequestHead) => Sender | Promise<Sender>
