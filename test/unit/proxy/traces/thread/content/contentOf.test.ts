// Goal: requests and answers of every format become messages of the conventions, without the bytes of images, files and thoughts.
// Whatever was sent, the content is JSON within its bound, or is left out. Method: a row of a table for each shape, random bodies.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { contentOf } from '../../../../../../proxy/traces/thread/content/contentOf.ts'

const BYTES_MAX = 65_536
const SECRET = 'iVBORw0KGgoAAAANSUhEUg'
const text = (content: string) => ({ type: 'text', content })
const raw = (value: string): string => Buffer.from(value).toString('latin1')
const read = (json: string): unknown => (json === '' ? undefined : JSON.parse(json))

interface Given {
  readonly input?: string
  readonly output?: string
  readonly streamed?: boolean
  readonly errorCode?: string | null
  readonly bytesMax?: number
}

function content({ input = '', output = '', streamed = false, errorCode = null, bytesMax = BYTES_MAX }: Given) {
  const asked = { input: raw(input), output: raw(output), isCut: false }
  const seen = contentOf(asked, { streamed, errorCode }, bytesMax)
  return {
    instructions: read(seen.instructions),
    input: read(seen.input),
    output: read(seen.output),
    isTruncated: seen.isTruncated,
  }
}

const call = (id: string, name: string, args: unknown) => ({ type: 'tool_call', id, name, arguments: args })
const response = (id: string, result: unknown) => ({ type: 'tool_call_response', id, result })

const ASKED: [what: string, body: object, messages: unknown, instructions?: unknown][] = [
  [
    'chat: roles, parts, calls and their results',
    {
      messages: [
        { role: 'system', content: 'Be kind. ü' },
        {
          role: 'user',
          content: [
            { type: 'text', text: 'What is this?' },
            { type: 'image_url', image_url: { url: `data:image/png;base64,${SECRET}` } },
            { type: 'input_audio', input_audio: { data: SECRET } },
            { type: 'file', file: { file_data: SECRET } },
          ],
        },
        {
          role: 'assistant',
          content: null,
          reasoning_content: SECRET,
          tool_calls: [{ id: 'c1', type: 'function', function: { name: 'look', arguments: '{"at":1}' } }],
        },
        { role: 'tool', tool_call_id: 'c1', content: 'a cat' },
      ],
    },
    [
      { role: 'system', parts: [text('Be kind. ü')] },
      {
        role: 'user',
        parts: [text('What is this?'), { type: 'image_url' }, { type: 'input_audio' }, { type: 'file' }],
      },
      { role: 'assistant', parts: [{ type: 'reasoning' }, call('c1', 'look', { at: 1 })] },
      { role: 'tool', parts: [response('c1', 'a cat')] },
    ],
  ],
  [
    'chat: arguments that are no JSON, and the call of older clients',
    {
      messages: [
        { role: 'assistant', content: '', tool_calls: [{ id: 'c1', function: { name: 'f', arguments: '{"a' } }] },
        { role: 'assistant', function_call: { name: 'g', arguments: '{}' } },
        { role: 'function', name: 'g', content: 'done' },
      ],
    },
    [
      { role: 'assistant', parts: [call('c1', 'f', '{"a')] },
      { role: 'assistant', parts: [call('', 'g', {})] },
      { role: 'tool', parts: [response('g', 'done')] },
    ],
  ],
  [
    'messages: system, blocks, results with images',
    {
      system: [{ type: 'text', text: 'Be brief.', cache_control: { type: 'ephemeral' } }],
      messages: [
        { role: 'user', content: 'Hi' },
        {
          role: 'assistant',
          content: [
            { type: 'thinking', thinking: SECRET, signature: SECRET },
            { type: 'tool_use', id: 't1', name: 'shot', input: { x: 1 } },
          ],
        },
        {
          role: 'user',
          content: [
            {
              type: 'tool_result',
              tool_use_id: 't1',
              content: [
                { type: 'text', text: 'see' },
                { type: 'image', source: { type: 'base64', data: SECRET } },
              ],
            },
            { type: 'document', source: { data: SECRET } },
          ],
        },
      ],
    },
    [
      { role: 'user', parts: [text('Hi')] },
      { role: 'assistant', parts: [{ type: 'thinking' }, call('t1', 'shot', { x: 1 })] },
      { role: 'user', parts: [response('t1', [text('see'), { type: 'image' }]), { type: 'document' }] },
    ],
    [text('Be brief.')],
  ],
  [
    'responses: a text',
    { instructions: 'Be kind.', input: 'Hi' },
    [{ role: 'user', parts: [text('Hi')] }],
    [text('Be kind.')],
  ],
  [
    'responses: items',
    {
      input: [
        { role: 'user', content: [{ type: 'input_text', text: 'Hi' }, { type: 'input_image', image_url: SECRET }] },
        { type: 'reasoning', encrypted_content: SECRET, summary: [] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_image', image_url: SECRET }] },
        { type: 'local_shell_call', call_id: 'c2', action: { command: ['ls'] } },
        { type: 'image_generation_call', id: 'i1', result: SECRET },
        { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      ],
    },
    [
      { role: 'user', parts: [text('Hi'), { type: 'input_image' }] },
      { role: 'assistant', parts: [{ type: 'reasoning' }] },
      { role: 'assistant', parts: [call('c1', 'f', { a: 1 })] },
      { role: 'tool', parts: [response('c1', [{ type: 'input_image' }])] },
      { role: 'assistant', parts: [call('c2', 'local_shell', { command: ['ls'] })] },
      { role: 'assistant', parts: [{ type: 'image_generation_call' }] },
      { role: 'assistant', parts: [text('No.')] },
    ],
  ],
  ['completions: a text', { prompt: 'Once' }, [{ role: 'user', parts: [text('Once')] }]],
  [
    'completions: texts and tokens',
    { prompt: ['a', [1, 2]] },
    [
      { role: 'user', parts: [text('a')] },
      { role: 'user', parts: [{ type: 'tokens' }] },
    ],
  ],
  ['completions: tokens', { prompt: [1, 2, 3] }, [{ role: 'user', parts: [{ type: 'tokens' }] }]],
  [
    'words of clients are short, and other types than texts are none',
    { messages: [{ role: 5, content: [{ type: SECRET.repeat(9), a: 1 }, { type: 7 }, 8, null, 'bare', { text: 'x' }] }] },
    [
      {
        role: 'user',
        parts: [{ type: SECRET.repeat(9).slice(0, 64) }, { type: 'unknown' }, text('bare'), text('x')],
      },
    ],
  ],
]
for (const [what, body, messages, instructions] of ASKED) {
  test(`the input of ${what}`, () => {
    const seen = content({ input: JSON.stringify(body) })
    assert.deepEqual(seen, { instructions, input: messages, output: undefined, isTruncated: false })
  })
}

const events = (...all: object[]): string => all.map((one) => `data: ${JSON.stringify(one)}\n\n`).join('')
const delta = (index: number, said: object, reason: string | null = null) => ({
  choices: [{ index, delta: said, finish_reason: reason }],
})
const args = (piece: string) => ({ tool_calls: [{ index: 0, function: { arguments: piece } }] })
/** An answer in one piece as it is captured: without the members after this one. */
const head = (answer: object): string => JSON.stringify(answer).slice(0, -1)

const MESSAGE_EVENTS = [
  { type: 'message_start', message: { role: 'assistant', content: [] } },
  { type: 'content_block_start', index: 0, content_block: { type: 'thinking', thinking: '' } },
  { type: 'content_block_delta', index: 0, delta: { type: 'thinking_delta', thinking: SECRET } },
  { type: 'content_block_start', index: 1, content_block: { type: 'text', text: '' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'One ' } },
  { type: 'content_block_delta', index: 1, delta: { type: 'text_delta', text: 'two' } },
  { type: 'content_block_start', index: 2, content_block: { type: 'tool_use', id: 't1', name: 'f', input: {} } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '{"a":' } },
  { type: 'content_block_delta', index: 2, delta: { type: 'input_json_delta', partial_json: '1}' } },
  { type: 'message_delta', delta: { stop_reason: 'tool_use' } },
]
const MESSAGE_PARTS = [{ type: 'thinking' }, text('One two'), call('t1', 'f', { a: 1 })]
const RESPONSE_EVENTS = [
  { type: 'response.created', response: { status: 'in_progress', output: [] } },
  { type: 'response.output_item.added', output_index: 0, item: { type: 'message', content: [] } },
  { type: 'response.output_text.delta', output_index: 0, delta: 'One ' },
  { type: 'response.output_text.delta', output_index: 0, delta: 'two' },
  { type: 'response.output_item.added', output_index: 1, item: { type: 'function_call', call_id: 'c1', name: 'f' } },
  { type: 'response.function_call_arguments.delta', output_index: 1, delta: '{"a":1}' },
]
const RESPONSE_OUTPUT = [
  { type: 'reasoning', encrypted_content: SECRET },
  { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'One two' }] },
  { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
]

const ANSWERED: [what: string, given: Given, parts: unknown[][], reason: string][] = [
  [
    'a chat completion',
    {
      output: head({
        choices: [
          {
            message: {
              role: 'assistant',
              content: 'Hi',
              reasoning: SECRET,
              images: [{ image_url: SECRET }],
              tool_calls: [{ id: 'c1', type: 'function', function: { name: 'f', arguments: '{}' } }],
            },
            finish_reason: 'tool_calls',
          },
          { message: { content: null, refusal: 'No.' }, finish_reason: 'tool_calls' },
        ],
      }),
    },
    [[{ type: 'reasoning' }, { type: 'image' }, text('Hi'), call('c1', 'f', {})], [text('No.')]],
    'tool_call',
  ],
  [
    'a chat stream',
    {
      streamed: true,
      output: `: comment\n\n${events(
        delta(0, { role: 'assistant', content: '' }),
        delta(0, { reasoning_content: SECRET }),
        delta(0, { content: 'One ' }),
        delta(0, { content: 'two' }),
        delta(0, { tool_calls: [{ index: 0, id: 'c1', function: { name: 'f', arguments: '' } }] }),
        delta(0, args('{"a":')),
        delta(0, args('1}')),
        delta(0, {}, 'tool_calls'),
      )}data: [DONE]\n\n`,
    },
    [[{ type: 'reasoning' }, text('One two'), call('c1', 'f', { a: 1 })]],
    'tool_call',
  ],
  [
    'a text completion',
    { output: head({ choices: [{ text: 'upon a time', index: 0, finish_reason: 'length' }] }) },
    [[text('upon a time')]],
    'length',
  ],
  [
    'a stream of a text completion',
    {
      streamed: true,
      output: events(
        { choices: [{ index: 0, text: 'upon ' }] },
        { choices: [{ index: 0, text: 'a time', finish_reason: 'stop' }] },
      ),
    },
    [[text('upon a time')]],
    'stop',
  ],
  [
    'a message',
    {
      output: head({
        type: 'message',
        role: 'assistant',
        content: [{ type: 'text', text: 'Hi' }],
        stop_reason: 'max_tokens',
      }),
    },
    [[text('Hi')]],
    'length',
  ],
  [
    'a stream of a message',
    { streamed: true, output: events(...MESSAGE_EVENTS) },
    [MESSAGE_PARTS],
    'tool_call',
  ],
  [
    'a stream of a message that broke off',
    { streamed: true, output: events(...MESSAGE_EVENTS.slice(0, -1)), errorCode: 'stream_interrupted' },
    [MESSAGE_PARTS],
    'error',
  ],
  [
    'a response',
    { output: head({ status: 'completed', output: RESPONSE_OUTPUT }) },
    [[{ type: 'reasoning' }, text('One two'), call('c1', 'f', { a: 1 })]],
    'tool_call',
  ],
  [
    'a response that is not whole',
    {
      output: head({
        status: 'incomplete',
        incomplete_details: { reason: 'max_output_tokens' },
        output: RESPONSE_OUTPUT.slice(1, 2),
      }),
    },
    [[text('One two')]],
    'length',
  ],
  [
    'a stream of a response',
    {
      streamed: true,
      output: events(...RESPONSE_EVENTS, {
        type: 'response.completed',
        response: { status: 'completed', output: RESPONSE_OUTPUT.slice(1, 2) },
      }),
    },
    [[text('One two')]],
    'stop',
  ],
  [
    'a stream of a response that broke off',
    { streamed: true, output: events(...RESPONSE_EVENTS) },
    [[text('One two'), call('c1', 'f', { a: 1 })]],
    'unknown',
  ],
  [
    'an answer that was cut',
    { output: '{"id":"x","choices":[{"message":{"role":"assistant","content":"whole"},"finish_reason":"st' },
    [[text('whole')]],
    'unknown',
  ],
]
for (const [what, given, parts, reason] of ANSWERED) {
  test(`the output of ${what}`, () => {
    const messages = parts.map((all) => ({ role: 'assistant', parts: all, finish_reason: reason }))
    const seen = content(given)
    assert.deepEqual(seen, { instructions: undefined, input: undefined, output: messages, isTruncated: false })
  })
}

test('an input beyond the bound is left out, an output is cut to it', () => {
  const long = 'é"'.repeat(500)
  const input = JSON.stringify({ system: 'short', messages: [{ role: 'user', content: long }] })
  const choices = [{ message: { content: long }, finish_reason: 'stop' }, { message: { content: 'more' } }]
  const seen = content({ input, output: head({ choices }), bytesMax: 1_000 })
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
  const output = head({ choices: [{ message: { content: 'Hi' }, finish_reason: 'stop' }] })
  for (const input of [
    `{"messages":[{"role":"user","content":${deep}}]}`,
    JSON.stringify({ messages: [{ tool_calls: [{ function: { name: 'f', arguments: deep } }] }] }),
    `{"messages":[{"content":[{"type":"tool_use","input":${deep}}]}]}`,
    `{"messages":[{"content":[{"type":"tool_result","content":${deep}}]}]}`,
  ]) {
    const seen = content({ input, output })
    assert.deepEqual(seen.output, [{ role: 'assistant', parts: [text('Hi')], finish_reason: 'stop' }])
  }
})

const NAMES = [
  ...['messages', 'system', 'instructions', 'input', 'prompt', 'choices', 'message', 'delta', 'content', 'text'],
  ...['type', 'role', 'tool_calls', 'function', 'name', 'arguments', 'id', 'output', 'status', 'finish_reason'],
  ...['index', 'content_block', 'output_index', 'item', 'response', 'refusal', 'tool_use_id', 'call_id', '__proto__'],
]
const WORDS = [
  ...['text', 'tool_use', 'tool_result', 'function_call', 'function_call_output', 'message', 'user', 'tool'],
  ...['content_block_start', 'content_block_delta', 'message_delta', 'response.completed', 'refusal', 'length'],
  ...['response.output_item.added', 'response.output_text.delta'],
]
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
        const asked = { input: raw(input), output: raw(answer), isCut: false }
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
