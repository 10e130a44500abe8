// The events and answers of the Messages format that the rows of messageRows.ts are made of.
import type { Got } from '../support/wires/wireClients.ts'

type Event = Readonly<Record<string, unknown>>

export const USAGE = { input_tokens: 10, output_tokens: 5 }
const HEAD = { id: 'msg', type: 'message', role: 'assistant', model: 'm', content: [], stop_reason: null }
export const INPUT = { city: 'Oslo' }
export const NOTHING: Got = { text: '', reasoning: '', refusal: '', calls: [], finish: 'stop' }
export const said: Got = { ...NOTHING, text: 'It is 4.' }
export const called: Got = {
  ...NOTHING,
  calls: [{ id: 'toolu_1', name: 'weather', arguments: JSON.stringify(INPUT) }],
  finish: 'tool_calls',
}
export const saidAndCalled: Got = { ...called, text: 'It is 4.' }

export const START: Event = {
  type: 'message_start',
  message: { ...HEAD, usage: { input_tokens: 10, output_tokens: 1 } },
}
export const STOP: Event = { type: 'message_stop' }
export const begin = (index: unknown, block: object): Event => ({
  type: 'content_block_start',
  index,
  content_block: block,
})
export const delta = (index: unknown, piece: object): Event => ({ type: 'content_block_delta', index, delta: piece })
export const stop = (index: unknown): Event => ({ type: 'content_block_stop', index })
export const reason = (word: unknown, usage: unknown = { output_tokens: 5 }): Event => ({
  type: 'message_delta',
  delta: { stop_reason: word, stop_sequence: null },
  usage,
})
export const text = (index: unknown, ...pieces: string[]): Event[] => [
  begin(index, { type: 'text', text: '' }),
  ...pieces.map((piece) => delta(index, { type: 'text_delta', text: piece })),
  stop(index),
]
const piece = (index: unknown, json: string): Event => delta(index, { type: 'input_json_delta', partial_json: json })
export const USE = { type: 'tool_use', id: 'toolu_1', name: 'weather', input: {} }
export const use = (index: unknown, block: object = USE, ...pieces: string[]): Event[] => [
  begin(index, block),
  ...pieces.map((json) => piece(index, json)),
  stop(index),
]
export const OSLO = JSON.stringify(INPUT)
export const END = [reason('end_turn'), STOP]
export const CALLED = [reason('tool_use'), STOP]
const sse = (events: readonly Event[]): string =>
  events.map((event) => `event: ${String(event['type'])}\ndata: ${JSON.stringify(event)}\n\n`).join('')

export const stream = (...events: readonly Event[][]): string => sse(events.flat())
export const SAID = [START, ...text(0, 'It is ', '4.')]
export const whole = (content: unknown, word: unknown = 'end_turn', more: object = {}): string =>
  JSON.stringify({ ...HEAD, content, stop_reason: word, usage: USAGE, ...more })

export interface Row {
  readonly name: string
  readonly stream?: string
  readonly whole?: string
  /** Absent: refused, and nothing is charged. `partial`: an error in the stream. */
  readonly got?: Got | 'partial'
  /** The usage is that of the provider. Default: true. */
  readonly isReported?: boolean
}

export const TEXT = { type: 'text', text: 'It is 4.' }
