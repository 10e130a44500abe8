import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageBounds } from '../../../../../contract/money/openaiUsage.ts'
import { anthropicEvent } from '../../../../../proxy/dialects/anthropic/anthropicEvents.ts'
import { AnthropicReader } from '../../../../../proxy/dialects/anthropic/anthropicReader.ts'
import { OpenaiReader } from '../../../../../proxy/dialects/openai/openaiReader.ts'
import { ResponseWriter } from '../../../../../proxy/dialects/responses/responseWriter.ts'
import { SerialWriter } from '../../../../../proxy/dialects/shared/serialWriter.ts'
import { TranslatedStream } from '../../../../../proxy/dialects/shared/translatedStream.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'
import { limits } from '../../../../support/limits.ts'

const HEAD = { id: 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV', createdAtMs: 0, model: 'm', echo: '"tools":[]' }
const delta = (content: string) =>
  Buffer.from(`data: {"choices":[{"index":0,"delta":${JSON.stringify({ content })}}]}\n\n`)

test('a response beyond its bound is broken, so buffers stay bounded', () => {
  const reader = new OpenaiReader(usageBounds(128_000, 16_384), limits)
  const stream = new TranslatedStream(reader, new SerialWriter(new ResponseWriter(HEAD)), 100)
  const out = new OutBuffer()
  stream.push(delta('x'.repeat(100)), out)
  assert.equal(stream.state, 'flowing')
  stream.push(delta('é'), out)
  assert.equal(stream.state, 'broken')
  const before = out.length
  stream.push(delta('more'), out)
  assert.equal(out.length, before)
  assert.deepEqual([stream.outputFrames, stream.outputBytes], [2, 102])
})

for (const returnsThoughts of [false, true]) {
  test(`thinking counts once more where the client gets it back: ${returnsThoughts}`, () => {
    const reader = new AnthropicReader(usageBounds(128_000, 16_384), limits)
    const writer = new SerialWriter(new ResponseWriter(HEAD, [], returnsThoughts ? limits : null))
    const stream = new TranslatedStream(reader, writer, 150)
    const events = [
      anthropicEvent('content_block_start', { index: 0, content_block: { type: 'thinking', thinking: '' } }),
      anthropicEvent('content_block_delta', {
        index: 0,
        delta: { type: 'thinking_delta', thinking: 'x'.repeat(100) },
      }),
      anthropicEvent('content_block_delta', { index: 0, delta: { type: 'signature_delta', signature: 'sig' } }),
      anthropicEvent('content_block_stop', { index: 0 }),
    ]
    stream.push(Buffer.from(events.join('')), new OutBuffer())
    assert.deepEqual([stream.outputBytes, stream.state], [100, returnsThoughts ? 'broken' : 'flowing'])
  })
}
