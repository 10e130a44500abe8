// Goal: requests of every format become messages of the conventions, without the bytes of images, files and thoughts.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { callPart, spanContent, textPart } from '../../../../../support/spanContent.ts'

const SECRET = 'iVBORw0KGgoAAAANSUhEUg'
const response = (id: string, said: unknown) => ({ type: 'tool_call_response', id, response: said })

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
      { role: 'system', parts: [textPart('Be kind. ü')] },
      {
        role: 'user',
        parts: [textPart('What is this?'), { type: 'image_url' }, { type: 'input_audio' }, { type: 'file' }],
      },
      { role: 'assistant', parts: [{ type: 'reasoning' }, callPart('c1', 'look', { at: 1 })] },
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
      { role: 'assistant', parts: [callPart('c1', 'f', '{"a')] },
      { role: 'assistant', parts: [callPart('', 'g', {})] },
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
      { role: 'user', parts: [textPart('Hi')] },
      { role: 'assistant', parts: [{ type: 'thinking' }, callPart('t1', 'shot', { x: 1 })] },
      { role: 'user', parts: [response('t1', [textPart('see'), { type: 'image' }]), { type: 'document' }] },
    ],
    [textPart('Be brief.')],
  ],
  [
    'responses: a text',
    { instructions: 'Be kind.', input: 'Hi' },
    [{ role: 'user', parts: [textPart('Hi')] }],
    [textPart('Be kind.')],
  ],
  [
    'responses: items',
    {
      input: [
        {
          role: 'user',
          content: [
            { type: 'input_text', text: 'Hi' },
            { type: 'input_image', image_url: SECRET },
          ],
        },
        { type: 'reasoning', encrypted_content: SECRET, summary: [] },
        { type: 'function_call', call_id: 'c1', name: 'f', arguments: '{"a":1}' },
        { type: 'function_call_output', call_id: 'c1', output: [{ type: 'input_image', image_url: SECRET }] },
        { type: 'local_shell_call', call_id: 'c2', action: { command: ['ls'] } },
        { type: 'image_generation_call', id: 'i1', result: SECRET },
        { type: 'message', role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      ],
    },
    [
      { role: 'user', parts: [textPart('Hi'), { type: 'input_image' }] },
      { role: 'assistant', parts: [{ type: 'reasoning' }] },
      { role: 'assistant', parts: [callPart('c1', 'f', { a: 1 })] },
      { role: 'tool', parts: [response('c1', [{ type: 'input_image' }])] },
      { role: 'assistant', parts: [callPart('c2', 'local_shell', { command: ['ls'] })] },
      { role: 'assistant', parts: [{ type: 'image_generation_call' }] },
      { role: 'assistant', parts: [textPart('No.')] },
    ],
  ],
  ['completions: a text', { prompt: 'Once' }, [{ role: 'user', parts: [textPart('Once')] }]],
  [
    'completions: texts and tokens',
    { prompt: ['a', [1, 2]] },
    [
      { role: 'user', parts: [textPart('a')] },
      { role: 'user', parts: [{ type: 'tokens' }] },
    ],
  ],
  ['completions: tokens', { prompt: [1, 2, 3] }, [{ role: 'user', parts: [{ type: 'tokens' }] }]],
  [
    'words of clients are short, and other types than texts are none',
    {
      messages: [{ role: 5, content: [{ type: SECRET.repeat(9), a: 1 }, { type: 7 }, 8, null, 'bare', { text: 'x' }] }],
    },
    [
      {
        role: 'user',
        parts: [{ type: SECRET.repeat(9).slice(0, 64) }, { type: 'unknown' }, textPart('bare'), textPart('x')],
      },
    ],
  ],
]
for (const [what, body, messages, instructions] of ASKED) {
  test(`the input of ${what}`, () => {
    const seen = spanContent({ input: JSON.stringify(body) })
    assert.deepEqual(seen, { instructions, input: messages, output: undefined, isTruncated: false })
  })
}
