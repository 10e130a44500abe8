import { buildConnector, Client, errors } from 'undici'
import {
  HostError,
  type HostFault,
  type LookupAll,
  pinnedLookup,
  resolveHost,
} from '../../../contract/net/resolveHost.ts'
import { tunnelConnector } from '../../../contract/net/tunnelConnector.ts'
import type { Reach } from '../../../contract/providers/reach.ts'
import { gatherBytes } from './gatherBytes.ts'

const HEADER_BYTES_MAX = 16_384
const CONNECT_TIMEOUT_MS = 5_000

/** Why there is no answer. */
export type CallFault = HostFault | 'unreachable' | 'too_large'

/** A call that got no whole answer. */
export class CallError extends Error {
  override name = 'CallError'
  readonly fault: CallFault
  /** The other side may have read the request. */
  readonly maybeSent: boolean

  /** @param host of the URL, with its port */
  constructor(fault: CallFault, host: string, maybeSent: boolean, cause?: unknown) {
    super(`${host}: ${fault}`, cause === undefined ? undefined : { cause })
    this.fault = fault
    this.maybeSent = maybeSent
  }
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'PUT' | 'DELETE'
  /** http: or https:, without user and password. */
  readonly url: URL
  /** Name to value. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** For the whole call: resolving, connecting, and reading the answer with its body. */
  readonly timeoutMs: number
  /** Bound on the answer's body. */
  readonly answerBytesMax: number
  /** Lets private and other special addresses pass: for hosts that the operator has named. */
  readonly allowPrivate: boolean
  /** How the operator wants the server to be reached; absent is directly. A proxy resolves the name by itself, so that `allowPrivate` must be true. */
  readonly reach?: Reach | undefined
  /** Sent as proxies send: without headers of its own, as if the connection were kept. */
  readonly bare?: boolean
  /** The system's resolver when absent. */
  readonly lookup?: LookupAll
}

export interface HttpAnswer {
  readonly status: number
  readonly body: Buffer
  /** Seconds of the header Retry-After, where it is a number; 0 otherwise. */
  readonly retryAfterSeconds: number
}

/** As `callHttp`. */
export type CallHttp = (call: HttpCall) => Promise<HttpAnswer>

/**
 * Makes one HTTP call in bounded time and size. The host is resolved once, each of its addresses is checked, and the
 * connection goes to one of these. Keep-alive connections are not reused: they were not opened to the addresses checked for
 * this call, and if one closed during the request, it would be unknown whether the request was read. Redirects are returned
 * like any other answer.
 * @throws CallError
 */
export const callHttp: CallHttp = async (call) => {
  const { url } = call
  const signal = AbortSignal.timeout(call.timeoutMs)
  let client: Client | undefined
  let isConnected = false
  try {
    client = new Client(url.origin, { connect: await connector(call, signal), maxHeaderSize: HEADER_BYTES_MAX })
    client.once('connect', () => {
      isConnected = true
    })
    return await send(client, call, signal)
  } catch (error) {
    throw new CallError(faultOf(error, signal), url.host, isConnected, error)
  } finally {
    void client?.destroy()
  }
}

async function connector(
  { url, allowPrivate, lookup, reach }: HttpCall,
  signal: AbortSignal,
): Promise<buildConnector.connector> {
  const options = { timeout: CONNECT_TIMEOUT_MS, ...(reach?.context && { secureContext: reach.context }) }
  if (reach?.proxy !== undefined && allowPrivate) {
    return tunnelConnector(reach.proxy, buildConnector(options), CONNECT_TIMEOUT_MS)
  }
  const addresses = await resolveHost(url.hostname, { allowPrivate, signal, ...(lookup && { lookup }) })
  return buildConnector({ ...options, lookup: pinnedLookup(addresses) })
}

async function send(client: Client, call: HttpCall, signal: AbortSignal): Promise<HttpAnswer> {
  const answer = await client.request({
    method: call.method,
    path: call.url.pathname + call.url.search,
    headers: call.bare === true ? call.headers : { 'user-agent': 'sluice', ...call.headers },
    body: call.body ?? null,
    signal,
    reset: call.bare !== true,
    headersTimeout: call.timeoutMs,
    bodyTimeout: call.timeoutMs,
  })
  const body = await readBody(answer.body, call.answerBytesMax)
  const seconds = Number(answer.headers['retry-after'] ?? 0)
  return { status: answer.statusCode, body, retryAfterSeconds: seconds >= 0 ? Math.ceil(seconds) : 0 }
}

/** A body of more bytes than its call takes. */
class TooLargeError extends Error {
  override name = 'TooLargeError'
}

async function readBody(stream: AsyncIterable<Buffer>, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  // Leaving the loop early ends the answer.
  for await (const piece of stream) {
    bytes += piece.length
    if (bytes > bytesMax) throw new TooLargeError(`the answer is larger than ${bytesMax} bytes`)
    pieces.push(piece)
  }
  return gatherBytes(pieces)
}

function faultOf(error: unknown, signal: AbortSignal): CallFault {
  if (error instanceof TooLargeError) return 'too_large'
  if (signal.aborted) return 'timeout'
  if (error instanceof HostError) return error.fault
  return error instanceof errors.ConnectTimeoutError ? 'timeout' : 'unreachable'
}
