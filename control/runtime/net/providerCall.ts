import { Agent, request } from 'undici'

/** Faults that come before anything was sent: nobody can have read the request. */
const UNSENT = new Set([
  'ECONNREFUSED',
  'ENOTFOUND',
  'EAI_AGAIN',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'UND_ERR_CONNECT_TIMEOUT',
  'CERT_HAS_EXPIRED',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'SELF_SIGNED_CERT_IN_CHAIN',
])

/** A call that got no whole answer. */
export class CallError extends Error {
  override name = 'CallError'
  /** The other side may have read the request. */
  readonly maybeSent: boolean

  constructor(message: string, maybeSent: boolean, cause?: unknown) {
    super(message, cause === undefined ? undefined : { cause })
    this.maybeSent = maybeSent
  }
}

export interface HttpCall {
  readonly method: 'GET' | 'POST' | 'DELETE'
  readonly url: string
  /** Name to value. */
  readonly headers: Readonly<Record<string, string>>
  readonly body?: string | Buffer
  /** The whole call, its answer included, takes no longer. */
  readonly timeoutMs: number
  readonly answerBytesMax: number
}

export interface HttpAnswer {
  readonly status: number
  readonly body: Buffer
  /** Seconds of the header Retry-After, where it is a number; 0 otherwise. */
  readonly retryAfterSeconds: number
}

/** Makes one HTTP call; redirects are answers like any other. */
export type CallHttp = (call: HttpCall) => Promise<HttpAnswer>

const shared = new Agent({ connect: { timeout: 5_000 } })

/**
 * Makes a call on a connection of its own: one that was kept could end under the request, and then nobody would know
 * whether it was read.
 * @throws CallError
 */
export const callHttp: CallHttp = async (call) => {
  const signal = AbortSignal.timeout(call.timeoutMs)
  try {
    const answer = await request(call.url, {
      method: call.method,
      headers: { ...call.headers },
      body: call.body ?? null,
      signal,
      reset: true,
      headersTimeout: call.timeoutMs,
      bodyTimeout: call.timeoutMs,
      dispatcher: shared,
    })
    const body = await readBody(answer.body, call.answerBytesMax)
    const seconds = Number(answer.headers['retry-after'] ?? 0)
    return { status: answer.statusCode, body, retryAfterSeconds: seconds >= 0 ? Math.ceil(seconds) : 0 }
  } catch (error) {
    if (error instanceof CallError) throw error
    const { code = '', message } = error as { code?: string; message: string }
    throw new CallError(signal.aborted ? 'no answer in time' : message || code, !UNSENT.has(code), error)
  }
}

async function readBody(stream: AsyncIterable<Buffer> & { destroy(): unknown }, bytesMax: number): Promise<Buffer> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of stream) {
    bytes += piece.length
    if (bytes > bytesMax) {
      stream.destroy()
      throw new CallError(`the answer is larger than ${bytesMax} bytes`, true)
    }
    pieces.push(piece)
  }
  return Buffer.concat(pieces)
}
