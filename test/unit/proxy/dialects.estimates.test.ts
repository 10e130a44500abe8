// Goal: a tool call whose provider reports no usage is estimated by its name and its arguments, which are counted once,
// however the provider delivers them and whatever JSON it puts around them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { outputBytes } from '../../../contract/api/completion.ts'
import { type Delivered, estimateUsage } from '../../../contract/money/estimate.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { writtenBytes } from '../../../proxy/dialects/anthropic/anthropicMessage.ts'
import { AnthropicReader } from '../../../proxy/dialects/anthropic/anthropicReader.ts'
import { MessagesStream } from '../../../proxy/dialects/anthropic/messagesStream.ts'
import { ChatStream } from '../../../proxy/dialects/openai/chatStream.ts'
import { OpenaiReader } from '../../../proxy/dialects/openai/openaiReader.ts'
import { OpenaiWriter } from '../../../proxy/dialects/openai/openaiWriter.ts'
import { chunkIdentity } from '../../../proxy/dialects/openai/rewrite.ts'
import type { AnswerContext } from '../../../proxy/dialects/shared/codec.ts'
import type { RelayStream } from '../../../proxy/dialects/shared/relayStream.ts'
import { TranslatedStream } from '../../../proxy/dialects/shared/translatedStream.ts'
import { OutBuffer } from '../../../proxy/sse/outBuffer.ts'
import { limits } from '../../support/limits.ts'

const WORDS = 200
const NAME = 'look_up'
const PIECES = ['{"words":["', ...Array.from({ length: WORDS }, () => 'word '), '"]}']
const ARGUMENTS = PIECES.join('')
const WRITTEN_BYTES = Buffer.byteLength(NAME + ARGUMENTS)
const BOUNDS = usageBounds(128_000, 16_384)

function openaiChunks(): string {
  const chunk = (delta: object) => `data: ${JSON.stringify({ id: 'a', choices: [{ index: 0, delta }] })}\n\n`
  const first = { index: 0, id: 'call_0123456789', type: 'function', function: { name: NAME, arguments: '' } }
  const rest = PIECES.map((piece) => chunk({ tool_calls: [{ index: 0, function: { arguments: piece } }] }))
  return [chunk({ role: 'assistant', content: null, tool_calls: [first] }), ...rest].join('')
}

function anthropicEvents(): string {
  const event = (value: { type: string }) => `event: ${value.type}\ndata: ${JSON.stringify(value)}\n\n`
  const message = { id: 'm', type: 'message', role: 'assistant', model: 'm', content: [] }
  const block = { type: 'tool_use', id: 'toolu_0123456789', name: NAME, input: {} }
  const deltas = PIECES.map((piece) =>
    event({ type: 'content_block_delta', index: 0, delta: { type: 'input_json_delta', partial_json: piece } } as never),
  )
  const start = { type: 'content_block_start', index: 0, content_block: block }
  return [event({ type: 'message_start', message } as never), event(start), ...deltas].join('')
}

function delivered(stream: RelayStream, source: string): Pick<Delivered, 'frames' | 'outputBytes'> {
  stream.push(Buffer.from(source), new OutBuffer())
  return { frames: stream.outputFrames, outputBytes: stream.outputBytes }
}

const identity = chunkIdentity('req_1', 'test/m', 0)
const asked = { requestId: 'req_1', model: { id: 'test/m' }, startedAtMs: 0, request: { includeUsage: false } }
const writer = () => new OpenaiWriter(asked as unknown as AnswerContext)
const DELIVERIES: [string, () => Pick<Delivered, 'frames' | 'outputBytes'>][] = [
  ['chunks of chat completions', () => delivered(new ChatStream(identity, false, BOUNDS, limits), openaiChunks())],
  ['events of messages', () => delivered(new MessagesStream(identity, BOUNDS, limits), anthropicEvents())],
  [
    'chunks for a client of another format',
    () => delivered(new TranslatedStream(new OpenaiReader(BOUNDS, limits), writer(), 1e6), openaiChunks()),
  ],
  [
    'events for a client of another format',
    () => delivered(new TranslatedStream(new AnthropicReader(BOUNDS, limits), writer(), 1e6), anthropicEvents()),
  ],
  [
    'a chat completion in one piece',
    () => {
      const call = { id: 'call_0123456789', type: 'function', function: { name: NAME, arguments: ARGUMENTS } }
      const message = { role: 'assistant', content: null, tool_calls: [call] }
      return { frames: 1, outputBytes: outputBytes({ choices: [{ index: 0, message }] }) }
    },
  ],
  [
    'a message in one piece',
    () => {
      const input: unknown = JSON.parse(ARGUMENTS)
      return { frames: 1, outputBytes: writtenBytes([{ type: 'tool_use', id: 'toolu_0', name: NAME, input }]) }
    },
  ],
]

for (const [name, deliver] of DELIVERIES) {
  test(`a tool call in ${name} counts its name and arguments`, () => {
    const { frames, outputBytes: bytes } = deliver()
    assert.equal(bytes, WRITTEN_BYTES)
    const { output } = estimateUsage({
      promptBytes: 0,
      promptExtraTokens: 0,
      outputTokensMax: 10_000,
      frames,
      outputBytes: bytes,
    })
    assert.ok(frames <= WORDS + 4)
    assert.ok(output >= WORDS && output <= WORDS * 1.5, `${output} tokens`)
  })
}

test('text beside a tool call counts, and calls in other forms do not break the scan', () => {
  const chunk = (delta: object) => `data: ${JSON.stringify({ id: 'a', choices: [{ index: 0, delta }] })}\n\n`
  const count = (delta: object) => delivered(new ChatStream(identity, false, BOUNDS, limits), chunk(delta)).outputBytes
  const call = { index: 0, function: { name: 'f', arguments: '{}' } }
  assert.equal(count({ content: 'hello', tool_calls: [call, call] }), 5 + 3 + 3)
  assert.equal(count({ tool_calls: [{ type: 'custom', custom: { name: 'f', input: 'text' } }] }), 5)
  assert.equal(count({ tool_calls: [{ name: 'f', arguments: '"ü\\n' }] }), 1 + 5)
  assert.equal(count({ tool_calls: [{ index: 0, function: { arguments: { a: 1 } } }] }), 7)
  assert.equal(count({ tool_calls: [], content: null }), 0)
  assert.equal(
    count({ tool_calls: [null, 1, 'x', [[]], { function: null }, { function: { deep: { name: 'x' } } }] }),
    0,
  )
})
