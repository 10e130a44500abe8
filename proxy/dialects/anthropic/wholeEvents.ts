import { answerError } from '../../../contract/api/answerError.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { AnswerJson } from '../../json/answerJson.ts'
import { type AnswerBounds, parseAnswer } from '../../json/jsonObject.ts'
import { anthropicEvent, MESSAGE_END } from './anthropicEvents.ts'
import { contentOf, inputText, withExactInputs } from './callBlocks.ts'

/** The members that a block of each kind begins with, and its deltas: the member with their piece, by their type. */
const STREAMED: ReadonlyMap<unknown, readonly (readonly [delta: string, member: string])[]> = new Map([
  ['text', [['text_delta', 'text']]],
  [
    'thinking',
    [
      ['thinking_delta', 'thinking'],
      ['signature_delta', 'signature'],
    ],
  ],
])

/**
 * A Messages answer in one piece as the events of a stream, for a provider that was asked for one and does not stream.
 * @returns nothing for a body that is none, which is no answer then
 */
export function wholeEvents(body: Buffer, bounds: AnswerBounds): Buffer {
  const answer = parseAnswer(body, bounds)
  if (answer === null) return Buffer.alloc(0)
  const error = answerError(answer)
  if (error !== null) return Buffer.from(anthropicEvent('error', { error }))
  const content = contentOf(answer)
  if (content === null) return Buffer.alloc(0)
  const blocks = withExactInputs(content, new AnswerJson(body))
  const { stop_reason: reason = null, stop_sequence: sequence = null, receipt: _receipt, ...message } = answer
  const start = { ...message, content: [], stop_reason: null, stop_sequence: null }
  const usage = isJsonObject(answer['usage']) ? { usage: answer['usage'] } : {}
  return Buffer.from(
    anthropicEvent('message_start', { message: start }) +
      blocks.map(blockEvents).join('') +
      anthropicEvent('message_delta', { delta: { stop_reason: reason, stop_sequence: sequence }, ...usage }) +
      MESSAGE_END,
  )
}

function blockEvents(block: JsonObject, index: number): string {
  const { type } = block
  const start: JsonObject = { ...block }
  const deltas: JsonObject[] = []
  for (const [delta, member] of STREAMED.get(type) ?? []) {
    if (typeof block[member] !== 'string') continue
    start[member] = ''
    deltas.push({ type: delta, [member]: block[member] })
  }
  if (type === 'tool_use') {
    start['input'] = {}
    deltas.push({ type: 'input_json_delta', partial_json: inputText(block['input']) || '{}' })
  }
  return (
    anthropicEvent('content_block_start', { index, content_block: start }) +
    deltas.map((delta) => anthropicEvent('content_block_delta', { index, delta })).join('') +
    anthropicEvent('content_block_stop', { index })
  )
}
