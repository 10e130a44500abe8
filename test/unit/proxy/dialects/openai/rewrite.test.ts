// Goal: every chunk of a chat has the members that typed clients demand: the object by its name, and a time in whole seconds.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { usageBounds } from '../../../../../contract/money/openaiUsage.ts'
import { ChatStream } from '../../../../../proxy/dialects/openai/chatStream.ts'
import { chunkIdentity } from '../../../../../proxy/dialects/openai/rewrite.ts'
import { OutBuffer } from '../../../../../proxy/sse/outBuffer.ts'
import { limits } from '../../../../support/limits.ts'

const HEADS: readonly (readonly [what: string, head: string, created: number])[] = [
  ['nothing', '', 5],
  ['no object', '"created":7,', 7],
  ['the object of an answer', '"object":"chat.completion","created":7,', 7],
  ['the object of a text', '"created":7,"object":"text_completion",', 7],
  ['null for both', '"object":null,"created":null,', 5],
  ['a time with a fraction', '"created":1700000000.123,', 5],
  ['a time as a text', '"created":"2026-01-01T00:00:00Z","object":"",', 5],
]

for (const [what, head, created] of HEADS) {
  test(`chunks that begin with ${what}`, () => {
    const delta = (said: object) =>
      `data: {"id":"up",${head}"choices":[{"index":0,"delta":${JSON.stringify(said)}}]}\n\n`
    const stream = new ChatStream(chunkIdentity('req_A', 'acme/m', 5_000), true, usageBounds(1_000, 1_000), limits)
    const out = new OutBuffer()
    const texts = ['a', 'b', 'c'].map((content) => delta({ content }))
    stream.push(Buffer.from(`${delta({ role: 'assistant', content: '' })}${texts.join('')}data: [DONE]\n\n`), out)
    stream.finish(out)
    const usage = { input: 1, cachedInput: 0, cacheWrite5m: 0, cacheWrite1h: 0, output: 1, reasoning: 0 }
    const all = out.view().toString() + stream.tail({ usage, fault: null, receipt: '' })
    const chunks = all.split('\n\n').filter((event) => event.startsWith('data: {'))
    assert.equal(chunks.length, 6)
    for (const event of chunks) {
      const chunk = JSON.parse(event.slice('data: '.length)) as Record<string, unknown>
      assert.deepEqual(
        [chunk['id'], chunk['object'], chunk['created'], chunk['model']],
        ['req_A', 'chat.completion.chunk', created, 'acme/m'],
      )
    }
  })
}
