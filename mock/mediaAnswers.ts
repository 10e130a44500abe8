import type { Behaviour } from './grammar.ts'
import type { Pieces } from './pieces.ts'
import { eventOf } from './speech.ts'
import type { ReportedUsage } from './usage.ts'
import { usageOf } from './usage.ts'

/** A buffered answer, and the quantity that the provider bills for it. */
export interface MediaAnswer {
  readonly body: string
  /** Images, seconds or searches; null where tokens are billed or nothing is reported. */
  readonly quantity: number | null
  readonly usage: ReportedUsage | null
}

type Fields = Readonly<Record<string, unknown>>

const CREATED = 1_763_683_200
const IMAGE_INPUT = { text_tokens: 10, image_tokens: 0 }
const DIMENSIONS = 8
const BYTES_PER_TOKEN = 4
const DOCUMENTS_PER_SEARCH = 100
const ABSURD = 1e12
// A picture of one pixel.
const PNG = 'iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=='

/** A count as the behaviour's `usage` reports it; undefined reports none. */
export function reported(behaviour: Behaviour, count: number): number | undefined {
  switch (behaviour.words.usage) {
    case 'none':
    case 'null':
      return undefined
    case 'zero':
      return 0
    case 'negative':
      return -count
    case 'fractional':
      return count + 0.5
    case 'absurd':
      return ABSURD
    default:
      return count
  }
}

export function embeddingsAnswer(behaviour: Behaviour, fields: Fields): MediaAnswer {
  const { input } = fields
  const isList = Array.isArray(input) && typeof input[0] !== 'number'
  const inputs = isList ? (input as unknown[]) : [input]
  const encoding = behaviour.words.encoding ?? fields['encoding_format'] ?? 'float'
  const numbers = Number(fields['dimensions'] ?? behaviour.integers.dims ?? DIMENSIONS)
  const data = inputs.map((item, index) => {
    const vector = Float32Array.from({ length: numbers }, (_, place) => Math.fround(Math.sin(index * 7 + place)))
    const embedding = encoding === 'base64' ? Buffer.from(vector.buffer).toString('base64') : [...vector]
    return { object: 'embedding', index, embedding: item === null ? null : embedding }
  })
  const usage = usageOf(behaviour, tokensOf(inputs), 0)
  const usageText =
    usage === null ? {} : { usage: { prompt_tokens: usage.prompt_tokens, total_tokens: usage.total_tokens } }
  const body = JSON.stringify({ object: 'list', data, model: behaviour.name, ...usageText })
  return { body, quantity: null, usage }
}

function tokensOf(inputs: readonly unknown[]): number {
  return inputs.reduce<number>((sum, input) => {
    return sum + (Array.isArray(input) ? input.length : Math.ceil(Buffer.byteLength(String(input)) / BYTES_PER_TOKEN))
  }, 0)
}

export function imagesAnswer(behaviour: Behaviour, fields: Fields): MediaAnswer {
  const count = behaviour.words.usage === 'zero' ? 0 : (behaviour.integers.images ?? Number(fields['n'] ?? 1))
  const image =
    fields['response_format'] === 'url'
      ? { url: 'https://mock.invalid/image.png' }
      : { b64_json: PNG, revised_prompt: 'x' }
  const body = JSON.stringify({
    created: CREATED,
    data: Array.from({ length: count }, () => image),
    usage: { input_tokens: 10, input_tokens_details: IMAGE_INPUT, output_tokens: 20, total_tokens: 30 },
  })
  return { body, quantity: count, usage: null }
}

/** Images as events: for each, so many on the way as are asked for, then the image, which alone is billed. */
export function imagePieces(behaviour: Behaviour, fields: Fields, path: string): Pieces {
  const kind = path.endsWith('/edits') ? 'image_edit' : 'image_generation'
  const partial = Number(fields['partial_images'] ?? 0)
  const each = partial + 1
  const images = behaviour.integers.images ?? Number(fields['n'] ?? 1)
  const piece = (index: number): object => {
    const place = index % each
    const last = place === partial
    const more = last
      ? { usage: { input_tokens: 10, input_tokens_details: IMAGE_INPUT, output_tokens: 20, total_tokens: 30 } }
      : { partial_image_index: place }
    const type = `${kind}.${last ? 'completed' : 'partial_image'}`
    return { type, b64_json: PNG, created_at: CREATED, output_format: 'png', size: '1024x1024', ...more }
  }
  return {
    contentType: 'text/event-stream',
    count: images * each,
    piece: (index) => Buffer.from(eventOf(piece(index))),
    end: '',
    billed: (sent) => Math.floor(sent / each),
  }
}

export function transcriptionAnswer(behaviour: Behaviour, fields: Fields): MediaAnswer {
  const seconds = reported(behaviour, behaviour.integers.seconds ?? 1)
  const format = fields['response_format'] ?? 'json'
  const text = behaviour.echo ? JSON.stringify(fields) : (behaviour.text ?? 'hello world')
  if (format === 'verbose_json') {
    const segments = [{ id: 0, start: 0, end: seconds ?? 1, text }]
    const body = JSON.stringify({ task: 'transcribe', language: 'english', duration: seconds, text, segments })
    return { body, quantity: seconds ?? null, usage: null }
  }
  const usage = seconds === undefined ? {} : { usage: { type: 'duration', seconds } }
  return { body: JSON.stringify({ text, ...usage }), quantity: seconds ?? null, usage: null }
}

export function rerankAnswer(behaviour: Behaviour, fields: Fields): MediaAnswer {
  const documents = (fields['documents'] ?? []) as unknown[]
  const topN = Number(fields['top_n'] ?? documents.length)
  const counted = Math.ceil(documents.length / DOCUMENTS_PER_SEARCH)
  // The last document is the best, so that tests notice an unsorted order.
  const ranked = documents.map((document, index) => ({ index, score: (index + 1) / (documents.length + 1), document }))
  const best = ranked.slice(-topN)
  if (behaviour.words.style === 'jina') {
    const results = best.map(({ index, score, document }) => ({
      index,
      relevance_score: score,
      document: { text: document },
    }))
    const body = JSON.stringify({ model: behaviour.name, usage: { total_tokens: 99 }, results })
    return { body, quantity: counted, usage: null }
  }
  const searches = reported(behaviour, behaviour.integers.searches ?? counted)
  const results = best.map(({ index, score }) => ({ index, relevance_score: score }))
  const billed = searches === undefined ? {} : { billed_units: { search_units: searches } }
  const body = JSON.stringify({ id: 'up', results, meta: { api_version: { version: '2' }, ...billed } })
  return { body, quantity: searches ?? counted, usage: null }
}
