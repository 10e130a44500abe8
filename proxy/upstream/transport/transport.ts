import type { Reach } from '../../../contract/providers/reach.ts'
import type { HeaderBlock } from './headerBlock.ts'

/** Why a provider's answer did not arrive, or broke off. */
export type FailureKind =
  | 'connect'
  | 'reset'
  | 'connect_timeout'
  | 'first_byte_timeout'
  | 'idle_timeout'
  | 'total_timeout'
  | 'malformed'
  | 'cancelled'

export class TransportFailure extends Error {
  readonly kind: FailureKind

  constructor(kind: FailureKind, options?: ErrorOptions) {
    super(`upstream ${kind.replaceAll('_', ' ')}`, options)
    this.kind = kind
  }
}

/** Where and how to send a request. */
export interface UpstreamRequest {
  /** Scheme, host and port. */
  readonly origin: string
  /** Host and port, as the Host header has them. */
  readonly host: string
  readonly path: string
  readonly method: 'GET' | 'POST'
  readonly headers: HeaderBlock
  /** Sent as x-request-id: of the gateway up to NamedAttempts, which writes that of the attempt here; a request is sent once. */
  requestId: string
  /** The context of the trace of the request; absent for a provider that does not get it. */
  traceHeaders?: HeaderBlock | undefined
  /** Its number among the attempts of the request; absent is 0, for questions about an earlier one. */
  attempt?: number
  /** A list is sent piece by piece, without another copy. */
  readonly body: Buffer | string | readonly Buffer[] | null
  readonly connectTimeoutMs: number
  readonly firstByteTimeoutMs: number
  readonly idleTimeoutMs: number
  readonly totalTimeoutMs: number
  /** Not on a connection that was kept: the last one was dead. */
  readonly fresh: boolean
  /** Goes to public addresses alone; absent is to any. */
  readonly publicOnly?: boolean
  /** How the origin is reached; absent is directly, with the usual certificates. Never together with publicOnly. */
  readonly reach?: Reach | undefined
}

/**
 * The name of the connections that may carry a request. Those that were not checked never serve requests that have to go to
 * public addresses.
 */
export function poolName({ origin, publicOnly, reach }: UpstreamRequest): string {
  if (publicOnly === true) return `public ${origin}`
  return reach === undefined ? origin : `${reach.name} ${origin}`
}

/** Whether a body consists of pieces. */
export function isPieces(body: UpstreamRequest['body']): body is readonly Buffer[] {
  return Array.isArray(body)
}

/** How many bytes the pieces of a body have. */
export function piecesBytes(pieces: readonly Buffer[]): number {
  return pieces.reduce((bytes, piece) => bytes + piece.length, 0)
}

const SLICE_BYTES = 524_288

/** The pieces of a body in slices, each of which is written, and encrypted, in little time. */
export function* slicesOf(pieces: readonly Buffer[]): Generator<Buffer, void, undefined> {
  for (const piece of pieces) {
    for (let from = 0; from < piece.length; from += SLICE_BYTES) yield piece.subarray(from, from + SLICE_BYTES)
  }
}

/**
 * Receives one answer: `onHead` once, `onData` any number of times, then `onEnd`; or `onFailure` at any point, after
 * which nothing follows. Bytes are only lent for the time of the call; those of a body are taken out of its content coding.
 */
export interface UpstreamListener {
  onHead(status: number, headers: UpstreamHeaders): void
  onData(bytes: Buffer): void
  onEnd(): void
  onFailure(failure: TransportFailure): void
}

export interface UpstreamHeaders {
  /** The first value of a header by its lower-case name, or undefined. */
  get(name: string): string | undefined
  /** The body is in an unknown content coding; absent is false. */
  readonly unreadable?: boolean
}

/** Bytes on their way from a provider. After `cancel` their listener is not called any more. */
export interface UpstreamFlow {
  pause(): void
  resume(): void
  cancel(): void
}

/** A request under way. */
export interface UpstreamCall extends UpstreamFlow {
  /** Nothing of the answer is wanted but its end, by which the connection can be kept; it is given up if that does not come in time. */
  letGo(withinMs: number): void
}

/** Sends requests to providers; the only thing that knows how they are reached. */
export interface Transport {
  send(request: UpstreamRequest, listener: UpstreamListener): UpstreamCall
  /** Ends idle connections and refuses new requests. */
  close(): Promise<void>
}
