import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { assertError } from '../../support/clients/chatClient.ts'
import { post } from '../../support/clients/responsesClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const M = 'test/small'
const ENDPOINTS = ['responses']
const IMAGE = 'data:image/png;base64,iVBORw0KGgo='
const TOOL = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} } }

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      models: [
        { id: M, endpoints: ENDPOINTS },
        { id: 'test/attested', endpoints: ENDPOINTS, attested: true },
        { id: 'test/tiny', endpoints: ENDPOINTS, context: 1_000, max_output: 500 },
      ],
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack.finish())

const create = (body: Record<string, unknown>) =>
  post(stack.baseUrl, '/v1/responses', apiKey, { model: M, input: 'hello', ...body })

const images = (count: number) => [
  { role: 'user', content: Array.from({ length: count }, () => ({ type: 'input_image', image_url: IMAGE })) },
]

const REFUSED: [name: string, body: Record<string, unknown>, status: number, code: string | null, param?: string][] = [
  ['a previous response', { previous_response_id: 'resp_1' }, 400, 'unsupported_parameter', 'previous_response_id'],
  ['a conversation', { conversation: 'conv_1' }, 400, 'unsupported_parameter', 'conversation'],
  ['a stored prompt', { prompt: { id: 'pmpt_1' } }, 400, 'unsupported_parameter', 'prompt'],
  ['background', { background: true }, 400, 'unsupported_parameter', 'background'],
  ['an item reference', { input: [{ type: 'item_reference', id: 'msg_1' }] }, 400, 'unsupported_parameter', 'input[0]'],
  ['a reference without a type', { input: [{ id: 'msg_1' }] }, 400, 'unsupported_parameter', 'input[0]'],
  ['no input', { input: null }, 400, null, 'input'],
  ['an empty input', { input: [] }, 400, null, 'input'],
  ['input of thoughts alone', { input: [{ type: 'reasoning', summary: [] }] }, 400, null, 'input'],
  ['input of a number', { input: 5 }, 400, null, 'input'],
  ['an item of a number', { input: [5] }, 400, null, 'input[0]'],
  ['an item without a type', { input: [{ content: 'x' }] }, 400, null, 'input[0].type'],
  ['nothing but an item of a hosted tool', { input: [{ type: 'web_search_call', id: 'ws_1' }] }, 400, null, 'input'],
  ['an unknown role', { input: [{ role: 'tool', content: 'x' }] }, 400, null, 'input[0].role'],
  ['a message without content', { input: [{ role: 'user' }] }, 400, null, 'input[0].content'],
  [
    'a text of a number',
    { input: [{ role: 'user', content: [{ type: 'input_text', text: 5 }] }] },
    400,
    null,
    'input[0].content[0].text',
  ],
  [
    'a file',
    { input: [{ role: 'user', content: [{ type: 'input_file', file_data: 'x' }] }] },
    400,
    null,
    'input[0].content[0].type',
  ],
  [
    'a stored image',
    { input: [{ role: 'user', content: [{ type: 'input_image', file_id: 'file_1' }] }] },
    400,
    null,
    'input[0].content[0].file_id',
  ],
  [
    'an image of the assistant',
    { input: [{ role: 'assistant', content: [{ type: 'input_image', image_url: IMAGE }] }] },
    400,
    null,
    'input[0].content',
  ],
  ['17 images', { input: images(17) }, 400, 'too_many_images', 'input'],
  ['a call without an id', { input: [{ type: 'function_call', name: 'f', arguments: '{}' }] }, 400, null],
  [
    'a call with an object for its name',
    { input: [{ type: 'function_call', call_id: 'c', name: {}, arguments: '{}' }] },
    400,
    null,
    'input[0].name',
  ],
  [
    'an output of a part whose text is a number',
    { input: [{ type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 5 }] }] },
    400,
    null,
    'input[0].output[0].text',
  ],
  ['instructions of a number', { instructions: 5 }, 400, null, 'instructions'],
  ['no model', { model: null }, 400, null, 'model'],
  ['an unknown model', { model: 'test/none' }, 404, 'model_not_found', 'model'],
  ['an attested model', { model: 'test/attested' }, 400, 'endpoint_not_supported', 'model'],
  ['a batch', { model: `${M}:batch` }, 400, 'batch_unavailable', 'model'],
  ['tools as an object', { tools: {} }, 400, null, 'tools'],
  ['a tool without a name', { tools: [{ type: 'function' }] }, 400, null, 'tools[0].name'],
  ['a schema of text', { tools: [{ ...TOOL, parameters: 'x' }] }, 400, null, 'tools[0].parameters'],
  [
    'a choice of no tool',
    { tools: [TOOL], tool_choice: { type: 'function', name: 'g' } },
    400,
    null,
    'tool_choice.name',
  ],
  ['a choice of a hosted tool', { tool_choice: { type: 'web_search' } }, 400, null, 'tool_choice'],
  [
    'a forced call of a tool that is dropped',
    { tools: [{ type: 'web_search' }], tool_choice: 'required' },
    400,
    null,
    'tool_choice',
  ],
  ['temperature of 3', { temperature: 3 }, 400, null, 'temperature'],
  ['top_p as text', { top_p: '1' }, 400, null, 'top_p'],
  ['max_output_tokens of 0', { max_output_tokens: 0 }, 400, null, 'max_output_tokens'],
  [
    'max_output_tokens above max_output',
    { max_output_tokens: 16_385 },
    400,
    'context_length_exceeded',
    'max_output_tokens',
  ],
  [
    'a prompt beyond the window',
    { model: 'test/tiny', input: 'word '.repeat(5_000) },
    400,
    'context_length_exceeded',
    'input',
  ],
  ['a format of no kind', { text: { format: { type: 'xml' } } }, 400, null, 'text.format.type'],
  ['a format without a schema', { text: { format: { type: 'json_schema', name: 'x' } } }, 400, null],
  ['reasoning as text', { reasoning: 'high' }, 400, null, 'reasoning'],
  ['effort of a number', { reasoning: { effort: 3 } }, 400, null, 'reasoning.effort'],
  ['truncation of no kind', { truncation: 'middle' }, 400, null, 'truncation'],
  ['metadata of numbers', { metadata: { a: 1 } }, 400, null, 'metadata'],
  ['stream as text', { stream: 'yes' }, 400, null, 'stream'],
  ['a user beyond all measure', { user: 'u'.repeat(513) }, 400, null, 'user'],
  ['a price below the model', { provider: { max_price: { prompt: 0.5 } } }, 404, 'no_route_for_policy'],
]

test('a rejected request states the reason, reaches no provider and takes no hold', async (t) => {
  const before = (await stack.provider.log()).length
  for (const [name, body, status, code, param] of REFUSED) {
    await t.test(name, async () => {
      assertError(await create(body), status, code, param)
    })
  }
  assert.equal((await stack.provider.log()).length, before)
  await stack.settled()
})
