import type { HttpRequest, HttpResponse } from 'uWebSockets.js'
import type { Kind } from './events.ts'

/** The head of a request; the HTTP server's own object is gone once its handler returns. */
export interface RequestHead {
  readonly headerNames: string[]
  requestId: string | null
  authorized: boolean
  contentType: string
}

/** The members of a chat or text completion request that the mock provider reads. */
export interface ChatBody {
  readonly kind: Kind
  readonly body: Record<string, unknown>
  readonly model: string
  readonly stream: boolean
  /** Whether stream_options.include_usage is set. */
  readonly usageAsked: boolean
  readonly maxTokens: number
  readonly promptBytes: number
  readonly promptTokens: number
}

const BODY_BYTES_MAX = 64 * 1_048_576
const BYTES_PER_TOKEN = 4

let lastText: string | undefined
let lastKind: Kind = 'chat'
let lastParsed: ChatBody | string = ''

/** Reads names of all headers, the gateway's request id, and whether it has a credential. */
export function readHead(req: HttpRequest): RequestHead {
  const head: RequestHead = { headerNames: [], requestId: null, authorized: false, contentType: '' }
  req.forEach((name, value) => {
    head.headerNames.push(name)
    if (name === 'x-request-id') head.requestId = value
    else if (name === 'content-type') head.contentType = value
    else if (name === 'authorization' || name === 'x-api-key') head.authorized = value !== ''
  })
  return head
}

/** Collects a body and calls back once with its text, or with undefined when it is too large. */
export function readBody(res: HttpResponse, done: (text: string | undefined) => void): void {
  readBytes(res, (bytes) => done(bytes?.toString()))
}

/** As `readBody`, with the bytes. */
export function readBytes(res: HttpResponse, done: (bytes: Buffer | undefined) => void): void {
  let parts: Buffer[] | undefined
  let bytes = 0
  res.onData((chunk, isLast) => {
    bytes += chunk.byteLength
    if (bytes > BODY_BYTES_MAX) {
      if (isLast) done(undefined)
      return
    }
    if (isLast && parts === undefined) return done(Buffer.from(Buffer.from(chunk)))
    // The memory behind a chunk is reused after this call.
    parts ??= []
    parts.push(Buffer.from(Buffer.from(chunk)))
    if (isLast) done(Buffer.concat(parts))
  })
}

/**
 * Parses a request of this kind.
 * @returns the reason as text if the request is invalid
 */
export function parseChat(text: string, kind: Kind): ChatBody | string {
  // A load generator sends the same body again and again.
  if (text === lastText && kind === lastKind) return lastParsed
  lastParsed = parseBody(text, kind)
  lastText = text
  lastKind = kind
  return lastParsed
}

function parseBody(text: string, kind: Kind): ChatBody | string {
  let body: unknown
  try {
    body = JSON.parse(text)
  } catch {
    return 'We could not parse the JSON body of your request.'
  }
  if (typeof body !== 'object' || body === null || Array.isArray(body)) return 'The body is not a JSON object.'
  const fields = body as Record<string, unknown>
  const model = fields['model']
  if (typeof model !== 'string' || model === '') return 'you must provide a model parameter'
  const prompt = kind === 'text' ? fields['prompt'] : fields['messages']
  if (kind !== 'text' && !Array.isArray(prompt)) return "Missing required parameter: 'messages'."
  if (kind === 'text' && typeof prompt !== 'string') return "Missing required parameter: 'prompt'."
  const promptBytes = Buffer.byteLength(JSON.stringify(prompt))
  return {
    kind,
    body: fields,
    model,
    stream: fields['stream'] === true,
    usageAsked: kind === 'messages' || asksUsage(fields['stream_options']),
    maxTokens: readMaxTokens(fields),
    promptBytes,
    promptTokens: Math.ceil(promptBytes / BYTES_PER_TOKEN),
  }
}

function asksUsage(options: unknown): boolean {
  return (
    typeof options === 'object' && options !== null && (options as Record<string, unknown>)['include_usage'] === true
  )
}

function readMaxTokens(fields: Record<string, unknown>): number {
  for (const name of ['max_completion_tokens', 'max_tokens']) {
    const value = fields[name]
    if (typeof value === 'number') return value
  }
  return Number.POSITIVE_INFINITY
}
