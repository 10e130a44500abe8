// Goal: whatever was sent, the content of a span is JSON within its bound, or is left out. Method: long and deep bodies, random ones.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contentOf } from '../../../../../../proxy/traces/thread/content/contentOf.ts'
import { answerHead, rawText, spanContent, textPart } from '../../../../../support/spanContent.ts'

const BYTES_MAX = 65_536

test('an input beyond the bound is left out, an output is cut to it', () => {
  const long = 'é"'.repeat(500)
  const input = JSON.stringify({ system: 'short', messages: [{ role: 'user', content: long }] })
  const choices = [{ message: { content: long }, finish_reason: 'stop' }, { message: { content: 'more' } }]
  const seen = spanContent({ input, output: answerHead({ choices }), bytesMax: 1_000 })
  assert.deepEqual([seen.instructions, seen.input, seen.isTruncated], [undefined, undefined, true])
  const [first, ...more] = seen.output as { parts: { content: string }[]; finish_reason: string }[]
  const said = first?.parts[0]?.content ?? assert.fail()
  assert.ok(long.startsWith(said) && said.length > 440, said)
  assert.deepEqual([first?.finish_reason, more], ['stop', []])
  const bytes = Buffer.byteLength(JSON.stringify(seen.output))
  assert.ok(bytes <= 1_000 && bytes > 990, `${bytes} bytes`)
})

test('what was cut before is said to be missing', () => {
  assert.equal(contentOf({ input: '', output: '', isCut: true }, null, BYTES_MAX).isTruncated, true)
})

test('JSON that nests deeper than a stack is left out, and the rest stays', () => {
  const deep = `${'['.repeat(200_000)}${']'.repeat(200_000)}`
  const output = answerHead({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] })
  for (const input of [
    `{"messages":[{"role":"user","content":${deep}}]}`,
    JSON.stringify({ messages: [{ tool_calls: [{ function: { name: 'f', arguments: deep } }] }] }),
    `{"messages":[{"content":[{"type":"tool_use","input":${deep}}]}]}`,
    `{"messages":[{"content":[{"type":"tool_result","content":${deep}}]}]}`,
  ]) {
    const seen = spanContent({ input, output })
    assert.deepEqual(seen.output, [{ role: 'assistant', parts: [textPart('Hi')], finish_reason: 'stop' }])
  }
})

const NAMES =
  'messages system instructions input prompt choices message delta content text type role tool_calls function name arguments id output status finish_reason index content_block output_index item response refusal tool_use_id call_id __proto__'.split(
    ' ',
  )
const WORDS =
  'text tool_use tool_result function_call function_call_output message user tool content_block_start content_block_delta message_delta response.completed refusal length response.output_item.added response.output_text.delta'.split(
    ' ',
  )
const { json } = fc.letrec<{ json: unknown }>((tie) => ({
  json: fc.oneof(
    { depthSize: 'small' },
    fc.constantFrom(...WORDS),
    fc.string({ unit: 'binary' }),
    fc.double(),
    fc.constantFrom(null, true, ''),
    fc.array(tie('json'), { maxLength: 4 }),
    fc.dictionary(fc.constantFrom(...NAMES), tie('json'), { maxKeys: 5, noNullPrototype: true }),
  ),
}))
const sent = fc.oneof(
  json.map((value) => JSON.stringify(value)),
  json.map((value) => JSON.stringify({ messages: value, input: value, prompt: value, system: value, choices: value })),
  fc.array(json, { maxLength: 5 }).map((all) => all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')),
  fc.string(),
)

test('nothing that was sent makes it fail; it is JSON within its bound', () => {
  fc.assert(
    fc.property(sent, sent, fc.nat(), fc.boolean(), fc.nat(400), (input, output, cut, streamed, bytesMax) => {
      const piece = output.slice(0, cut % (output.length + 1))
      for (const answer of [output, piece]) {
        const asked = { input: rawText(input), output: rawText(answer), isCut: false }
        const seen = contentOf(asked, { streamed, errorCode: null }, bytesMax)
        for (const name of ['instructions', 'input', 'output'] as const) {
          if (seen[name] === '') continue
          assert.ok(Array.isArray(JSON.parse(seen[name])))
          assert.ok(Buffer.byteLength(seen[name]) <= bytesMax, `${name} has ${seen[name]}`)
        }
      }
    }),
  )
})
