import type { ServerResponse } from 'node:http'
import fc from 'fast-check'
import type { Conduct } from './registeredEndpoint.ts'
import { beginEvents, chunk, event } from './scriptedProvider.ts'

/** What the endpoint's errors say; no client may read it. */
export const EVIL_TEXT = 'visit evil.example and enter your seed phrase'
/** What the endpoint answers, when it does. */
const EVIL_ANSWER = 'Served by evil.'

const MIB = 1_048_576
const PIECE = Buffer.alloc(65_536, 'a')
/** Between the bytes of an answer that is drawn out. */
const TRICKLE_MS = 20

/** What the endpoint reports beside four tokens of output, whatever was asked. */
const LIES: Readonly<Record<string, object | undefined>> = {
  honest: { prompt_tokens: 8, completion_tokens: 4 },
  reasoning: {
    prompt_tokens: 8,
    completion_tokens: 16_000,
    completion_tokens_details: { reasoning_tokens: 15_996 },
  },
  output: { prompt_tokens: 8, completion_tokens: 16_000 },
  slack: { prompt_tokens: 28, completion_tokens: 22 },
  prompt: { prompt_tokens: 120_000, completion_tokens: 4 },
  cached: { prompt_tokens: 9_000, completion_tokens: 4, prompt_tokens_details: { cached_tokens: 8_990 } },
  writes: { prompt_tokens: 12, completion_tokens: 4, prompt_tokens_details: { cache_write_tokens: 12 } },
  absurd: { prompt_tokens: -5, completion_tokens: 1e300 },
  texts: { prompt_tokens: '8', completion_tokens: [16_000] },
  none: undefined,
}

/** Members that an answer, or the first chunk of a stream, has beside its own, as JSON. */
const PADDING: Readonly<Record<string, () => string>> = {
  none: () => '',
  objects: () => `,"x":[${'{},'.repeat(MIB)}{}]`,
  numbers: () => `,"x":[${'0,'.repeat(MIB)}0]`,
  members: () => `,"x":{${Array.from({ length: 100_000 }, (_, i) => `"m${i}":0`).join()}}`,
  deep: () => `,"x":${'['.repeat(100_000)}${']'.repeat(100_000)}`,
  text: () => `,"x":"${'界'.repeat(MIB)}"`,
  escapes: () => `,"x":"${'\\u754c'.repeat(MIB / 2)}"`,
  receipt: () => `,"receipt":{"request_id":"req_x","cost":{"units":"0"}}`,
  error: () => `,"error":{"message":"${EVIL_TEXT}"}`,
  choices: () => `,"choices":[${'{"index":0,"message":{}},'.repeat(50_000)}{}]`,
}

const STATUSES = [301, 400, 401, 402, 403, 404, 408, 409, 413, 418, 422, 429, 451, 500, 503, 504, 599] as const
const CODES = ['', 'context_length_exceeded', 'insufficient_credit', 'invalid_api_key'] as const
const BEGINNINGS = ['at once', 'blanks', 'comments', 'empty', 'silence'] as const
const ENDS = ['whole', 'cut', 'endless', 'words', 'comments', 'error', 'silence'] as const

/** One way to treat a request. */
export interface Trick {
  /** A refusal with this status and code; null answers. */
  readonly refusal: { readonly status: number; readonly code: string } | null
  /** Of LIES. */
  readonly usage: string
  /** Of PADDING. */
  readonly padding: string
  /** What comes before the output; all but `at once` go on for ever. */
  readonly beginning: (typeof BEGINNINGS)[number]
  /** How it ends after the output; some never do. */
  readonly end: (typeof ENDS)[number]
}

const HONEST: Trick = { refusal: null, usage: 'honest', padding: 'none', beginning: 'at once', end: 'whole' }

/** Each trick by itself. */
export const TRICKS: readonly Trick[] = [
  ...Object.keys(LIES).map((usage) => ({ ...HONEST, usage })),
  ...Object.keys(PADDING).map((padding) => ({ ...HONEST, padding })),
  ...BEGINNINGS.map((beginning) => ({ ...HONEST, beginning })),
  ...ENDS.map((end) => ({ ...HONEST, end })),
  ...STATUSES.map((status) => ({ ...HONEST, refusal: { status, code: '' } })),
  ...CODES.map((code) => ({ ...HONEST, refusal: { status: 400, code } })),
]

/** Mixes of all of them; most answer, because a refusal hides the rest. */
export const mixes: fc.Arbitrary<Trick> = fc.record({
  refusal: fc.oneof(
    { weight: 4, arbitrary: fc.constant(null) },
    fc.record({ status: fc.constantFrom(...STATUSES), code: fc.constantFrom(...CODES) }),
  ),
  usage: fc.constantFrom(...Object.keys(LIES)),
  padding: fc.oneof({ weight: 2, arbitrary: fc.constant('none') }, fc.constantFrom(...Object.keys(PADDING))),
  beginning: fc.oneof({ weight: 4, arbitrary: fc.constant('at once' as const) }, fc.constantFrom(...BEGINNINGS)),
  end: fc.oneof({ weight: 2, arbitrary: fc.constant('whole' as const) }, fc.constantFrom(...ENDS)),
})

/** How an endpoint plays a trick, in streams and in whole answers. */
export function play(trick: Trick): Conduct {
  return (response, { stream }) => {
    response.on('error', () => undefined)
    if (trick.refusal !== null) refuse(response, trick.refusal)
    else if (stream === true) playStream(response, trick)
    else playBody(response, trick)
  }
}

function refuse(response: ServerResponse, { status, code }: { status: number; code: string }): void {
  response.writeHead(status, { 'content-type': 'application/json', location: '/elsewhere' })
  response.end(JSON.stringify({ error: { message: EVIL_TEXT, code } }))
}

function playBody(response: ServerResponse, trick: Trick): void {
  response.writeHead(200, { 'content-type': 'application/json' })
  if (trick.beginning !== 'at once') {
    if (trick.beginning === 'silence') response.flushHeaders()
    else forEver(response, ' ')
    return
  }
  const choice = { index: 0, message: { role: 'assistant', content: EVIL_ANSWER }, finish_reason: 'stop' }
  const body = `{"id":"x","choices":[${JSON.stringify(choice)}]${usageOf(trick)}${paddingOf(trick)}}`
  const half = body.slice(0, Math.floor(body.length / 2))
  if (trick.end === 'whole') response.end(body)
  else if (trick.end === 'endless' || trick.end === 'words') {
    response.write(`${body.slice(0, -1)},"more":"`)
    pump(response, PIECE)
  } else if (trick.end === 'comments') {
    response.write(body.slice(0, -1))
    forEver(response, ' ')
  } else if (trick.end === 'cut') response.write(half, () => response.destroy())
  else response.write(half)
}

function playStream(response: ServerResponse, trick: Trick): void {
  beginEvents(response)
  const { beginning, end } = trick
  if (beginning !== 'at once') {
    if (beginning === 'silence') response.flushHeaders()
    else forEver(response, beginning === 'empty' ? `data: ${JSON.stringify(chunk({ content: '' }))}\n\n` : ': wait\n\n')
    return
  }
  const first = JSON.stringify(chunk({ role: 'assistant', content: EVIL_ANSWER }))
  response.write(`data: ${first.slice(0, -1)}${paddingOf(trick)}}\n\n: receipt {"cost":{"units":"0"}}\n\n`)
  if (end === 'cut') response.write(': bye\n\n', () => response.destroy())
  else if (end === 'endless') pump(response, Buffer.from(`: ${PIECE.toString()}\n\n`))
  else if (end === 'words')
    pump(response, Buffer.from(`data: ${JSON.stringify(chunk({ content: ' word' }))}\n\n`.repeat(99)))
  else if (end === 'comments') forEver(response, ': wait\n\n')
  else if (end === 'error') event(response, { error: { message: EVIL_TEXT } })
  if (end === 'error') response.end()
  if (end !== 'whole') return
  event(response, chunk({}, 'stop'))
  response.end(`data: {"id":"x","choices":[]${usageOf(trick)}}\n\ndata: [DONE]\n\n`)
}

function usageOf({ usage }: Trick): string {
  const lie = LIES[usage]
  return lie === undefined ? '' : `,"usage":${JSON.stringify(lie)}`
}

const paddingOf = ({ padding }: Trick): string => PADDING[padding]?.() ?? ''

/** Writes a little now and then until the gateway leaves. */
function forEver(response: ServerResponse, little: string): void {
  const timer = setInterval(() => response.write(little), TRICKLE_MS)
  response.on('close', () => clearInterval(timer))
}

/** Writes as fast as the gateway reads, until it leaves. */
function pump(response: ServerResponse, piece: Buffer): void {
  const more = (): void => {
    while (!response.destroyed) {
      if (response.write(piece)) continue
      response.once('drain', more)
      return
    }
  }
  more()
}
