import { type IncomingMessage, request as requestHttp } from 'node:http'
import { request as requestHttps } from 'node:https'
import {
  HostError,
  type HostFault,
  type LookupAll,
  pinnedLookup,
  resolveHost,
} from '../../../contract/net/resolveHost.ts'

const HEADER_BYTES_MAX = 16_384

/** Why there is no answer. */
export type FetchFault = HostFault | 'unreachable' | 'too_large'

export class FetchError extends Error {
  override name = 'FetchError'
  readonly fault: FetchFault

  constructor(fault: FetchFault, host: string, cause?: unknown) {
    super(`${host}: ${fault}`, { cause })
    this.fault = fault
  }
}

export interface FetchOptions {
  readonly method?: 'GET' | 'POST'
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** Of the whole: resolving, connecting, the answer with its body. */
  readonly timeoutMs: number
  /** Of the answer's body. */
  readonly bytesMax: number
  /** Lets private and other special addresses pass. */
  readonly allowPrivate: boolean
  /** The system's resolver when absent. */
  readonly lookup?: LookupAll
}

export interface Fetched {
  readonly status: number
  readonly body: Buffer
}

/**
 * Sends one request to an address that somebody else has given, in bounded time and size. Its host is resolved once,
 * every address has to be public, and the connection goes to one of these; redirects are not followed.
 * @param url http: or https:, without user and password
 * @throws FetchError
 */
export async function fetchPublic(url: URL, options: FetchOptions): Promise<Fetched> {
  const signal = AbortSignal.timeout(options.timeoutMs)
  const { allowPrivate, lookup } = options
  try {
    const addresses = await resolveHost(url.hostname, { allowPrivate, signal, ...(lookup && { lookup }) })
    const response = await send(url, options, signal, pinnedLookup(addresses))
    return { status: response.statusCode ?? 0, body: await read(response, url.host, options.bytesMax) }
  } catch (error) {
    if (error instanceof FetchError) throw error
    if (signal.aborted) throw new FetchError('timeout', url.host, error)
    throw new FetchError(error instanceof HostError ? error.fault : 'unreachable', url.host, error)
  }
}

function send(
  url: URL,
  { method = 'GET', headers, body }: FetchOptions,
  signal: AbortSignal,
  lookup: ReturnType<typeof pinnedLookup>,
): Promise<IncomingMessage> {
  const start = url.protocol === 'https:' ? requestHttps : requestHttp
  return new Promise((resolve, reject) => {
    // No agent: a connection that another request has left open was not made to the addresses checked for this one.
    const connection = { agent: false as const, lookup, signal, maxHeaderSize: HEADER_BYTES_MAX }
    const request = start(url, { ...connection, method, headers: { 'user-agent': 'sluice', ...headers } })
    request.once('response', resolve)
    request.on('error', reject)
    // Nothing else is spoken here.
    request.once('upgrade', (_response, socket) => socket.destroy(new Error('the server switched protocols')))
    request.end(body)
  })
}

async function read(response: IncomingMessage, host: string, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  // Leaving the loop early closes the connection.
  for await (const piece of response as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw new FetchError('too_large', host)
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
