// Everything that a stream delivers is counted, in every dialect and choice, however its bytes are cut.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DeliveredText } from '../../../../../proxy/endpoints/chat/deliveredText.ts'
import { limits } from '../../../../support/limits.ts'

const EVENTS = [
  { choices: [{ delta: { content: 'a' } }, { delta: { reasoning_content: 'b' } }] },
  { choices: [{ delta: { tool_calls: [{ function: { name: 'c', arguments: 'd' } }] } }] },
  { choices: [{ text: 'e' }], usage: { completion_tokens: 9_000 } },
  { type: 'content_block_start', content_block: { type: 'thinking', thinking: 'f' } },
  { type: 'content_block_delta', delta: { type: 'input_json_delta', partial_json: 'g' } },
]

test('text, reasoning and tool calls of all choices count', () => {
  const bytes = Buffer.from(`: comment\n\n${EVENTS.map((event) => `data: ${JSON.stringify(event)}\n\n`).join('')}`)
  for (const size of [1, 7, bytes.length]) {
    const delivered = new DeliveredText(limits)
    for (let from = 0; from < bytes.length; from += size) delivered.push(bytes.subarray(from, from + size))
    assert.equal(delivered.text, 'abcdefg')
  }
})

test('a last piece that repeats the whole text or reasoning does not count, one in the middle does', () => {
  const pieces = ['It is 4, ', 'because 2 and 2 are 4.']
  const whole = pieces.join('')
  const streams = {
    content: (text: string) => ({ choices: [{ delta: { content: text } }] }),
    reasoning: (text: string) => ({ choices: [{ delta: { reasoning_content: text } }] }),
    text: (text: string) => ({ choices: [{ text }] }),
  }
  for (const event of Object.values(streams)) {
    const count = (texts: string[]): string => {
      const delivered = new DeliveredText(limits)
      for (const text of texts) delivered.push(Buffer.from(`data: ${JSON.stringify(event(text))}\n\n`))
      return delivered.text
    }
    assert.equal(count([...pieces, whole]), whole)
    assert.equal(count([...pieces, whole, ' Yes.']), `${whole}${whole} Yes.`)
  }
})
