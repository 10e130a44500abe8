// Goal: an answer has as many tool calls as the limit allows, whatever its provider and its client speak, and a history as
// many tools as are measured for it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { AnthropicReader } from '../../../proxy/dialects/anthropic/anthropicReader.ts'
import { ChatStream } from '../../../proxy/dialects/openai/chatStream.ts'
import { OpenaiReader } from '../../../proxy/dialects/openai/openaiReader.ts'
import { chunkIdentity } from '../../../proxy/dialects/openai/rewrite.ts'
import { calledTools, countCalledTools } from '../../../proxy/dialects/shared/calledTools.ts'
import type { MessageSink } from '../../../proxy/dialects/shared/message.ts'
import { OutBuffer } from '../../../proxy/sse/outBuffer.ts'
import { limits } from '../../support/limits.ts'
import { callStream, eventOf } from '../../support/wires/wire.ts'

const BOUNDS = usageBounds(128_000, 16_384)
const few = { ...limits, toolCallsMax: 3, calledToolsMax: 3 }
const sink: MessageSink = {
  text() {},
  reasoning() {},
  refusal() {},
  toolCall() {},
  toolArguments() {},
  ends() {},
}
const numbers = (count: number) => Array.from({ length: count }, (_, index) => index)
const openaiCalls = (count: number) =>
  Buffer.from(
    callStream(
      numbers(count).map((index) => [
        { index, id: `call_${index}`, type: 'function', function: { name: `f${index}`, arguments: '{}' } },
      ]),
    ),
  )
const anthropicCalls = (count: number) =>
  Buffer.from(
    numbers(count)
      .map((index) =>
        eventOf({
          type: 'content_block_start',
          index,
          content_block: { type: 'tool_use', id: `toolu_${index}`, name: 'f', input: {} },
        }),
      )
      .join(''),
  )

test('an answer with more calls than the limit is broken', () => {
  for (const count of [3, 4]) {
    const chat = new ChatStream(chunkIdentity('req', 'm', 0), false, BOUNDS, few)
    chat.push(openaiCalls(count), new OutBuffer())
    const openai = new OpenaiReader(BOUNDS, few)
    openai.push(openaiCalls(count), sink)
    const anthropic = new AnthropicReader(BOUNDS, few)
    anthropic.push(anthropicCalls(count), sink)
    const isBroken = count > 3
    assert.deepEqual([chat.state === 'broken', openai.broken, anthropic.broken], [isBroken, isBroken, isBroken])
  }
})

test('a history has as many tools defined as are measured', () => {
  const messages = numbers(5).map((index) => ({
    role: 'assistant',
    tool_calls: [{ id: `call_${index}`, type: 'function', function: { name: `f${index}`, arguments: '{}' } }],
  }))
  const size = { textBytes: 0, messages: 5, images: 0, tools: 0 }
  countCalledTools(messages, size, few)
  assert.equal(size.tools, 3)
  const turns = numbers(5).map((index) => ({
    role: 'assistant',
    content: [{ type: 'tool_use', id: `call_${index}`, name: `f${index}`, input: {} }],
  }))
  assert.equal((calledTools(turns, size.tools)['tools'] as unknown[]).length, 3)
})
