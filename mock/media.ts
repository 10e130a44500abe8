import type { HttpResponse, TemplatedApp } from 'uWebSockets.js'
import { createHash } from 'node:crypto'
import { Exchange } from './exchange.ts'
import { answerError, answerFailure, later } from './failures.ts'
import type { Behaviour } from './grammar.ts'
import { behaviourOf } from './grammar.ts'
import type { ServedLog } from './log.ts'
import {
  embeddingsAnswer,
  imagePieces,
  imagesAnswer,
  type MediaAnswer,
  rerankAnswer,
  transcriptionAnswer,
} from './mediaAnswers.ts'
import { PieceStream, type Pieces } from './pieces.ts'
import { type RequestHead, readBytes, readHead } from './request.ts'
import { speechPieces } from './speech.ts'
import { scrapeAnswer, searchAnswer } from './tools.ts'
import type { TimerWheel } from './wheel.ts'

/** The fields of a request, from JSON or from a form; a file is {filename, type, bytes, sha256}. */
export type Fields = Readonly<Record<string, unknown>>

const ANSWERS: Readonly<Record<string, (behaviour: Behaviour, fields: Fields) => MediaAnswer>> = {
  '/v1/embeddings': embeddingsAnswer,
  '/v1/images/generations': imagesAnswer,
  '/v1/images/edits': imagesAnswer,
  '/v1/audio/transcriptions': transcriptionAnswer,
  '/v1/audio/translations': transcriptionAnswer,
  '/v1/rerank': rerankAnswer,
  '/v1/search': searchAnswer,
  '/v1/scrape': scrapeAnswer,
}
const SPEECH = '/v1/audio/speech'

/** Serves all operations but chat. The model name selects the behaviour, as for chat. */
export function addMediaRoutes(
  app: TemplatedApp,
  log: ServedLog,
  wheel: TimerWheel,
  failures: Map<string, number>,
): void {
  for (const path of [...Object.keys(ANSWERS), SPEECH]) {
    app.post(path, (res, req) => {
      const head = readHead(req)
      const exchange = new Exchange(res, log, head.requestId)
      readBytes(res, (bytes) => void take({ res, exchange, path, head }, bytes, wheel, failures))
    })
  }
}

async function take(
  { res, exchange, path, head }: { res: HttpResponse; exchange: Exchange; path: string; head: RequestHead },
  bytes: Buffer | undefined,
  wheel: TimerWheel,
  failures: Map<string, number>,
): Promise<void> {
  const fields = bytes === undefined ? 'The body is too large.' : await readFields(bytes, head.contentType)
  if (exchange.ended) return
  res.cork(() => {
    if (typeof fields === 'string') return answerError(exchange, 400, undefined, fields)
    const model = String(fields['model'] ?? '')
    exchange.acceptMedia(path, model, fields)
    let behaviour: Behaviour
    try {
      behaviour = behaviourOf(model)
    } catch (error) {
      return answerError(exchange, 404, undefined, error instanceof Error ? error.message : String(error))
    }
    if (answerFailure(exchange, behaviour, wheel, failures)) return
    const media = ANSWERS[path]
    const pieces = piecesOf(path, behaviour, fields)
    if (pieces !== null) new PieceStream(exchange, behaviour, pieces, wheel).start()
    else if (media !== undefined)
      later(exchange, behaviour, wheel, () => answer(exchange, behaviour, media(behaviour, fields)))
  })
}

/** The answer in pieces; null for one that is sent immediately. */
function piecesOf(path: string, behaviour: Behaviour, fields: Fields): Pieces | null {
  if (path === SPEECH) return speechPieces(behaviour, fields)
  return String(fields['stream']) === 'true' && !behaviour.unstreamed ? imagePieces(behaviour, fields, path) : null
}

/** Half of the body for behaviours that break off, after a head that promised all of it. */
function answer(exchange: Exchange, behaviour: Behaviour, { body, quantity, usage }: MediaAnswer): void {
  const { cut, fin, hang } = behaviour.integers
  exchange.res.writeHeader('content-type', 'application/json')
  if (cut === undefined && fin === undefined && hang === undefined) {
    exchange.sent(200, 0, Buffer.byteLength(body), usage)
    exchange.billed(quantity, usage)
    return exchange.end('complete', body)
  }
  const bytes = Buffer.from(body)
  exchange.sent(200, 0, 0, null)
  exchange.res.tryEnd(bytes.subarray(0, bytes.length >> 1), bytes.length)
  if (hang === undefined) exchange.destroy()
}

/** @returns the reason in words when the body cannot be read */
async function readFields(bytes: Buffer, contentType: string): Promise<Fields | string> {
  try {
    if (!contentType.startsWith('multipart/')) return JSON.parse(bytes.toString()) as Fields
    // A reader that is not the gateway's own, so that each finds the other's faults.
    return formFields(await new Response(bytes, { headers: { 'content-type': contentType } }).formData())
  } catch (error) {
    return `We could not parse the body of your request: ${error instanceof Error ? error.message : error}`
  }
}

async function formFields(form: FormData): Promise<Fields> {
  const fields: Record<string, unknown> = {}
  for (const [name, value] of form) {
    const field = typeof value === 'string' ? value : await describeFile(value)
    fields[name] = name in fields ? [fields[name], field].flat() : field
  }
  return fields
}

async function describeFile(file: File): Promise<unknown> {
  const bytes = Buffer.from(await file.arrayBuffer())
  const sha256 = createHash('sha256').update(bytes).digest('hex')
  return { filename: file.name, type: file.type, bytes: bytes.length, sha256 }
}
