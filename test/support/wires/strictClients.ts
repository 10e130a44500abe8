import assert from 'node:assert/strict'
import { assertSerialItems } from './serialItems.ts'
import type { Got } from './wireClients.ts'

/** Reads the stream of a format as the strictest of its clients, which take nothing that is not documented. */
export const strictClients = { chat: readChat, messages: readMessages, responses: readResponse }

/** Reads the stream of a text completion likewise. */
export function readCompletion(stream: string): { text: string; finish: string } {
  const got = { text: '', finish: '' }
  for (const { choices, error, object, created } of dataOf(stream)) {
    assert.deepEqual([error, object], [undefined, 'text_completion'])
    assert.ok(Number.isSafeInteger(created))
    for (const { index, text, finish_reason: finish } of choices as TextChoice[]) {
      assert.equal(index, 0)
      got.text += textOf(text)
      if (finish === null) continue
      assert.ok(got.finish === '' || got.finish === finish)
      got.finish = finish
    }
  }
  return got
}

interface TextChoice {
  index: number
  text?: unknown
  finish_reason: string | null
}

function dataOf(stream: string): Record<string, unknown>[] {
  const events = stream.split('\n\n').filter((event) => event !== '' && !event.startsWith(':'))
  return events
    .map((event) => event.slice(event.indexOf('data: ') + 6))
    .filter((data) => data !== '[DONE]')
    .map((data) => JSON.parse(data) as Record<string, unknown>)
}

const nothing = (): Got => ({ text: '', reasoning: '', refusal: '', calls: [], finish: '' })

interface Delta {
  content?: unknown
  reasoning_content?: unknown
  reasoning?: unknown
  tool_calls?: { index: number; id?: string; type?: string; function: { name?: string; arguments?: unknown } }[]
}

interface Choice {
  index: number
  delta: Delta
  finish_reason: string | null
}

/** @param mayGoOn another reason may follow, which then counts */
function readChat(stream: string, mayGoOn = false): Got {
  const got = nothing()
  for (const { choices, error, object, created } of dataOf(stream)) {
    assert.deepEqual([error, object], [undefined, 'chat.completion.chunk'])
    assert.ok(Number.isSafeInteger(created))
    for (const { index, delta, finish_reason: finish } of choices as Choice[]) {
      assert.equal(index, 0)
      got.text += textOf(delta.content)
      got.reasoning += textOf(delta.reasoning_content ?? delta.reasoning)
      for (const { index: number, id, type, function: said } of delta.tool_calls ?? []) {
        let call = got.calls[number]
        if (call === undefined) {
          assert.equal(number, got.calls.length)
          assert.ok(id && said.name && type === 'function')
          call = { id, name: said.name, arguments: '' }
          got.calls.push(call)
        }
        assert.ok((id || call.id) === call.id && (said.name || call.name) === call.name)
        call.arguments += textOf(said.arguments)
      }
      if (finish === null) continue
      assert.ok(['stop', 'length', 'tool_calls', 'content_filter'].includes(finish))
      assert.ok(got.finish === '' || got.finish === finish || mayGoOn)
      got.finish = finish
    }
  }
  return got
}

function textOf(value: unknown): string {
  assert.ok(value === undefined || value === null || typeof value === 'string')
  return value ?? ''
}

interface MessageEvent {
  type: string
  index: number
  content_block: { type: string; id: string; name: string }
  delta: { text?: string; thinking?: string; partial_json?: string; stop_reason?: string }
}

const STOPS: Record<string, string> = { end_turn: 'stop', max_tokens: 'length', tool_use: 'tool_calls' }

function readMessages(stream: string): Got {
  const got = nothing()
  let blocks = 0
  for (const event of dataOf(stream) as unknown as MessageEvent[]) {
    if (event.type === 'content_block_start') {
      assert.equal(event.index, blocks++)
      const { type, id, name } = event.content_block
      if (type === 'tool_use') got.calls.push({ id, name, arguments: '' })
    } else if (event.type === 'content_block_delta') {
      assert.equal(event.index, blocks - 1)
      const { text = '', thinking = '', partial_json: json = '' } = event.delta
      got.text += text
      got.reasoning += thinking
      const call = got.calls.at(-1)
      if (json !== '' && call !== undefined) call.arguments += json
    } else if (event.type === 'message_delta') {
      assert.equal(got.finish, '')
      got.finish = STOPS[event.delta.stop_reason ?? ''] ?? ''
    }
  }
  assert.match(stream, /"type":"message_stop"}\n\n$/)
  return got
}

interface Item {
  type: string
  call_id: string
  name: string
  arguments: string
  summary: { text: string }[]
  content: { text: string }[]
}

function readResponse(stream: string): Got {
  const got = nothing()
  assertSerialItems(stream)
  const last = dataOf(stream).at(-1) as { type: string; response: { output: Item[] } }
  for (const { type, call_id: id, name, arguments: text, summary, content } of last.response.output) {
    if (type === 'reasoning') got.reasoning += summary.map((part) => part.text).join('')
    else if (type === 'message') got.text += content.map((part) => part.text).join('')
    else got.calls.push({ id, name, arguments: text })
  }
  assert.ok(last.type === 'response.completed' || last.type === 'response.incomplete')
  got.finish = last.type === 'response.incomplete' ? 'length' : got.calls.length > 0 ? 'tool_calls' : 'stop'
  return got
}
