import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { readOpenaiAnswer } from '../../../../../proxy/dialects/openai/openaiAnswer.ts'
import { readPlainAnswer } from '../../../../../proxy/dialects/openai/plainAnswer.ts'
import { AnswerJson } from '../../../../../proxy/json/answerJson.ts'
import { limits } from '../../../../support/limits.ts'

const CONTEXT = {
  requestId: 'req_01ARZ3NDEKTSV4RRFFQ69G5FAV',
  startedAtMs: 0,
  model: { id: 'acme/"small"', context: 128_000, maxOutput: 16_384, imageTokens: 0 },
  limits,
} as unknown as Parameters<typeof readOpenaiAnswer>[1]

const USAGE = '{"prompt_tokens":9,"completion_tokens":3,"total_tokens":12}'
const answer = (message: string, choice = '', top = '') =>
  `{"id":"chatcmpl-1","object":"chat.completion","created":1,"model":"m","choices":[{"index":0,"message":${message}` +
  `,"finish_reason":"stop"${choice}}],"usage":${USAGE}${top}}`
const SAID = '{"role":"assistant","content":"hi"}'

/** What is read of an answer, and what its client gets, however it was read. */
function seen(bytes: Buffer) {
  const read = readOpenaiAnswer(new AnswerJson(bytes), CONTEXT)
  if ('rejected' in read) return { rejected: read.rejected }
  const head: unknown = JSON.parse(`${read.head().toString()}}`)
  return { head, usage: read.usage, outputBytes: read.outputBytes, written: read.written() }
}

/** The same JSON with an escape in a name, which is not plain. */
function parsed(text: string) {
  const odd = text.replace('"choices"', '"\\u0063hoices"')
  assert.notEqual(odd, text)
  assert.equal(readPlainAnswer(Buffer.from(odd), CONTEXT), undefined)
  return seen(Buffer.from(odd))
}

const PLAIN: [what: string, json: string][] = [
  ['an answer as the documentation has it', answer(SAID)],
  [
    'null for what the model did not say',
    answer('{"role":"assistant","content":"hi","refusal":null,"tool_calls":null}'),
  ],
  ['empty lists and texts', answer('{"role":"assistant","content":"hi","tool_calls":[],"reasoning_content":""}')],
  ['escapes in the text', answer('{"content":"a\\n\\u00e9\\ud83d\\ude00\\\\","role":"assistant"}')],
  ['half a surrogate', answer('{"content":"a\\ud83d","role":"assistant"}')],
  ['characters beyond ASCII', answer('{"role":"assistant","content":"é😀"}')],
  [
    'members of the provider',
    answer(SAID, ',"logprobs":null,"x":{"y":[1]}', ',"system_fingerprint":"fp","z":[{}],"error":null'),
  ],
  [
    'own members in the middle',
    `{"model":"m","a":1,"id":"x","usage":${USAGE},"b":2,${answer(SAID).slice(1).replace(`,"usage":${USAGE}`, '')}`,
  ],
  ['a receipt of another gateway', answer(SAID, '', ',"receipt":{"cost":1}')],
  ['space between everything', answer(SAID).replace(/[{}[\],:]/g, ' $&\n')],
]
for (const [what, json] of PLAIN) {
  test(`an answer is relayed without parsing it: ${what}`, () => {
    assert.notEqual(readPlainAnswer(Buffer.from(json), CONTEXT), undefined)
    assert.deepEqual(seen(Buffer.from(json)), parsed(json))
  })
}

const OTHER: [what: string, json: string][] = [
  ['no usage', answer(SAID).replace(`,"usage":${USAGE}`, '')],
  ['a usage that is null', answer(SAID).replace(USAGE, 'null')],
  ['two usages', answer(SAID, '', `,"usage":${USAGE}`)],
  ['two choices', answer(SAID).replace('"choices":[', '"choices":[{"index":1,"message":{"content":"b"}},')],
  ['no choice', answer(SAID).replace(/\[.*\]/, '[]')],
  ['choices twice', answer(SAID, '', ',"choices":[]')],
  ['an error', answer(SAID, '', ',"error":{"message":"x"}')],
  ['an error in the choice', answer(SAID, ',"error":{"message":"x"}')],
  ['a text beside the message', answer(SAID, ',"text":"more"')],
  ['a delta beside the message', answer(SAID, ',"delta":{"content":"more"}')],
  ['a message twice', answer(SAID, ',"message":{"role":"assistant","content":"other"}')],
  ['a reason of its own', answer(SAID).replace('"stop"', '"end_turn"')],
  ['a reason that is a failure', answer(SAID).replace('"stop"', '"error"')],
  ['no reason', answer(SAID).replace('"stop"', 'null')],
  ['a reason twice', answer(SAID, ',"finish_reason":"length"')],
  ['no index', answer(SAID).replace('"index":0,', '')],
  ['an index that is null', answer(SAID).replace('"index":0', '"index":null')],
  ['no role', answer('{"content":"hi"}')],
  ['a role that is null', answer('{"role":null,"content":"hi"}')],
  ['no content', answer('{"role":"assistant"}')],
  ['an empty content', answer('{"role":"assistant","content":""}')],
  ['content in parts', answer('{"role":"assistant","content":[{"type":"text","text":"hi"}]}')],
  ['content twice', answer('{"role":"assistant","content":"a","content":"b"}')],
  ['reasoning', answer('{"role":"assistant","content":"hi","reasoning":"hm"}')],
  ['a refusal', answer('{"role":"assistant","content":"hi","refusal":"no"}')],
  [
    'a tool call',
    answer('{"role":"assistant","content":"hi","tool_calls":[{"function":{"name":"f","arguments":"{}"}}]}'),
  ],
  ['tool calls that are an object', answer('{"role":"assistant","content":"hi","tool_calls":{}}')],
  ['a function call without a name', answer('{"role":"assistant","content":"hi","function_call":{}}')],
  ['a name with an escape', answer('{"role":"assistant","content":"hi","re\\u0066usal":"no"}')],
  ['an own member with an escape', answer(SAID, '', ',"\\u0069d":"theirs"')],
  ['JSON that is cut off', answer(SAID).slice(0, -1)],
  ['something after the JSON', `${answer(SAID)}{}`],
  ['a number that JSON does not have', answer(SAID).replace('"created":1', '"created":01')],
  ['a mark before the text', `\ufeff${answer(SAID)}`],
]
for (const [what, json] of OTHER) {
  test(`an answer is parsed: ${what}`, () => {
    assert.equal(readPlainAnswer(Buffer.from(json), CONTEXT), undefined)
  })
}

test('an answer that is not UTF-8 is parsed', () => {
  const bytes = Buffer.from(answer(SAID).replace('hi', 'h\xff'), 'latin1')
  assert.equal(readPlainAnswer(bytes, CONTEXT), undefined)
})

test('an answer with more bytes than are parsed is not read', () => {
  const bytes = Buffer.from(answer(SAID))
  const few = { ...CONTEXT, limits: { ...limits, answerParsedBytesMax: bytes.length - 1 } }
  assert.equal(readPlainAnswer(bytes, few), undefined)
})

const text = fc.oneof(fc.string({ unit: 'grapheme' }), fc.string({ unit: 'binary' }))
const little = fc.oneof(fc.constant(null), fc.constant(''), fc.constant([]), fc.constant({}), text, fc.integer())
const message = fc.record(
  {
    role: fc.oneof({ weight: 9, arbitrary: fc.constant('assistant') }, little),
    content: fc.oneof({ weight: 9, arbitrary: text }, little),
    refusal: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, little),
    reasoning_content: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, little),
    tool_calls: fc.oneof({ weight: 9, arbitrary: fc.constant([]) }, little),
    annotations: little,
  },
  { requiredKeys: ['role', 'content'] },
)
const choice = fc.record(
  {
    index: fc.oneof({ weight: 9, arbitrary: fc.constant(0) }, little),
    message: fc.oneof({ weight: 9, arbitrary: message }, little),
    finish_reason: fc.oneof({ weight: 9, arbitrary: fc.constantFrom('stop', 'length', 'content_filter') }, little),
    logprobs: little,
    text: fc.oneof({ weight: 9, arbitrary: fc.constant(null) }, little),
  },
  { requiredKeys: ['index', 'message', 'finish_reason'] },
)
const count = fc.oneof({ weight: 9, arbitrary: fc.nat(200_000) }, little)
const usage = fc.record(
  {
    prompt_tokens: count,
    completion_tokens: count,
    total_tokens: count,
    prompt_tokens_details: fc.oneof(fc.constant(null), fc.record({ cached_tokens: count })),
    completion_tokens_details: fc.oneof(fc.constant(null), fc.record({ reasoning_tokens: count })),
  },
  { requiredKeys: ['prompt_tokens', 'completion_tokens'] },
)
const members = fc.record(
  {
    id: little,
    object: little,
    model: text,
    created: fc.oneof({ weight: 9, arbitrary: fc.nat() }, little),
    system_fingerprint: little,
    choices: fc.array(choice, { minLength: 1, maxLength: 1 }),
    usage: fc.oneof({ weight: 9, arbitrary: usage }, little),
    error: fc.oneof({ weight: 19, arbitrary: fc.constant(null) }, little),
  },
  { requiredKeys: ['choices', 'usage', 'created'] },
)

test('an answer that is not parsed reads, counts and goes on as if it had been', () => {
  let plain = 0
  let runs = 0
  fc.assert(
    fc.property(members, fc.boolean(), fc.boolean(), (value, backwards, spaced) => {
      const entries = Object.entries(value)
      const json = JSON.stringify(Object.fromEntries(backwards ? entries.reverse() : entries), null, spaced ? 2 : 0)
      runs++
      if (readPlainAnswer(Buffer.from(json), CONTEXT) !== undefined) plain++
      assert.deepEqual(seen(Buffer.from(json)), parsed(json))
    }),
    { numRuns: 5_000 },
  )
  assert.ok(plain > runs / 10 && plain < runs, `${plain} of ${runs} were plain`)
})
