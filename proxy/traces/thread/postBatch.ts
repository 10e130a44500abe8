import { type IncomingMessage, Agent as PlainAgent, request as plainRequest } from 'node:http'
import { Agent as TlsAgent, request as tlsRequest } from 'node:https'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'

/** Where spans are exported to, and how. */
export interface ExportTarget {
  readonly url: string
  readonly headers: Readonly<Record<string, string>>
  /** The certificates that are trusted, in PEM; absent are those that Node.js trusts. */
  readonly certificates?: string
  readonly gzip: boolean
  /** Of one export with all its tries, in milliseconds. */
  readonly timeoutMs: number
  /** The first wait before another try, in milliseconds. */
  readonly retryMs: number
  readonly answerBytesMax: number
}

interface Reply {
  readonly status: number
  readonly retryAfterMs: number
  readonly body: Buffer
}

/** The specification has these answers tried again. */
const RETRIED = new Set([429, 502, 503, 504])
const IDLE_SOCKETS_MAX = 1
const plain = new PlainAgent({ keepAlive: true, maxSockets: IDLE_SOCKETS_MAX })
let tls: TlsAgent | undefined

/**
 * Posts an export, again after a failure that may pass, until its time is up.
 * @returns the body of the answer
 * @throws Error that says why the receiver did not take it
 */
export async function postBatch(target: ExportTarget, content: Uint8Array): Promise<Buffer> {
  const body = target.gzip ? gzipSync(content) : content
  const deadlineMs = performance.now() + target.timeoutMs
  for (let waitMs = target.retryMs; ; waitMs *= 2) {
    const signal = AbortSignal.timeout(Math.max(1, Math.ceil(deadlineMs - performance.now())))
    const reply = await post(target, body, signal).catch((error: unknown) => error as Error)
    if (!(reply instanceof Error) && reply.status >= 200 && reply.status < 300) return reply.body
    const failure = reply instanceof Error ? reply : new Error(`the receiver answered with status ${reply.status}`)
    if (!(reply instanceof Error) && !RETRIED.has(reply.status)) throw failure
    // Processes that failed together do not try again together.
    const jitteredMs = waitMs * (0.5 + Math.random() / 2)
    const restMs = Math.max(jitteredMs, reply instanceof Error ? 0 : reply.retryAfterMs)
    if (performance.now() + restMs >= deadlineMs) throw failure
    await sleep(restMs)
  }
}

function post(target: ExportTarget, body: Uint8Array, signal: AbortSignal): Promise<Reply> {
  const { url, headers, certificates, gzip, answerBytesMax } = target
  const isTls = url.startsWith('https:')
  if (isTls) tls ??= new TlsAgent({ keepAlive: true, maxSockets: IDLE_SOCKETS_MAX, ca: certificates })
  return new Promise((resolve, reject) => {
    const sent = (isTls ? tlsRequest : plainRequest)(url, {
      method: 'POST',
      agent: isTls ? tls : plain,
      signal,
      headers: {
        ...headers,
        'content-type': 'application/x-protobuf',
        'content-length': body.length,
        ...(gzip && { 'content-encoding': 'gzip' }),
      },
    })
    sent.on('error', reject)
    sent.on('response', (answer) => void readReply(answer, answerBytesMax).then(resolve, reject))
    sent.end(body)
  })
}

async function readReply(answer: IncomingMessage, bytesMax: number): Promise<Reply> {
  const pieces: Buffer[] = []
  let bytes = 0
  for await (const piece of answer as AsyncIterable<Buffer>) {
    bytes += piece.length
    if (bytes > bytesMax) throw new Error(`the receiver answered with more than ${bytesMax} bytes`)
    pieces.push(piece)
  }
  const seconds = Number(answer.headers['retry-after'] ?? 0)
  const retryAfterMs = Number.isFinite(seconds) ? seconds * 1_000 : 0
  return { status: answer.statusCode ?? 0, retryAfterMs, body: Buffer.concat(pieces) }
}
