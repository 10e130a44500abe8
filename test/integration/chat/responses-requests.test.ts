import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { outputText, post, responseOf } from '../../support/clients/responsesClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const M = 'test/echo'
const ENDPOINTS = ['chat', 'responses']
const IMAGE = 'data:image/png;base64,iVBORw0KGgo='
const TOOL = { type: 'function', name: 'f', parameters: { type: 'object', properties: {} }, strict: true }

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack({
    catalog: {
      models: [{ id: M, upstream: 'mock,echo', endpoints: ENDPOINTS }],
    },
  })
  apiKey = (await stack.createAccount({ credits: '100' })).apiKey
})
after(() => stack.finish())

const create = (body: Record<string, unknown>) =>
  post(stack.baseUrl, '/v1/responses', apiKey, { model: M, input: 'hello', ...body })

/** What the provider was sent for a request. */
async function asked(body: Record<string, unknown>): Promise<Record<string, unknown>> {
  const seen = JSON.parse(outputText(responseOf(await create(body)))) as { body: Record<string, unknown> }
  return seen.body
}

const images = (count: number) => [
  { role: 'user', content: Array.from({ length: count }, () => ({ type: 'input_image', image_url: IMAGE })) },
]

test('items become the messages of a chat', async () => {
  const { messages } = await asked({
    instructions: 'Be brief.',
    input: [
      { role: 'developer', content: 'A rule.' },
      {
        type: 'message',
        role: 'user',
        content: [
          { type: 'input_text', text: 'Look:' },
          { type: 'input_image', image_url: IMAGE, detail: 'low' },
        ],
      },
      { type: 'reasoning', id: 'rs_1', summary: [{ type: 'summary_text', text: 'hm' }] },
      { role: 'assistant', id: 'msg_1', content: [{ type: 'output_text', text: 'I see.', annotations: [] }] },
      { type: 'function_call', id: 'fc_1', call_id: 'c1', name: 'f', arguments: '{}' },
      { type: 'function_call', call_id: 'c2', name: 'g', arguments: '{"a":1}' },
      { role: 'assistant', content: [{ type: 'output_text', text: ' Wait.' }] },
      { type: 'function_call_output', call_id: 'c1', output: 'one' },
      { type: 'function_call_output', call_id: 'c2', output: [{ type: 'input_text', text: 'two' }] },
      { role: 'assistant', content: [{ type: 'refusal', refusal: 'No.' }] },
      { role: 'user', content: [{ type: 'input_text', text: 'Why?' }] },
    ],
  })
  const call = (id: string, name: string, text: string) => ({
    id,
    type: 'function',
    function: { name, arguments: text },
  })
  assert.deepEqual(messages, [
    { role: 'system', content: 'Be brief.\n\nA rule.' },
    {
      role: 'user',
      content: [
        { type: 'text', text: 'Look:' },
        { type: 'image_url', image_url: { url: IMAGE, detail: 'low' } },
      ],
    },
    { role: 'assistant', content: 'I see. Wait.', tool_calls: [call('c1', 'f', '{}'), call('c2', 'g', '{"a":1}')] },
    { role: 'tool', tool_call_id: 'c1', content: 'one' },
    { role: 'tool', tool_call_id: 'c2', content: 'two' },
    { role: 'assistant', content: null, refusal: 'No.' },
    { role: 'user', content: 'Why?' },
  ])
})

test('a call without text before it is a separate message', async () => {
  const { messages } = await asked({
    input: [
      { role: 'user', content: 'x' },
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '' },
      { type: 'function_call_output', call_id: 'c', output: '' },
    ],
  })
  assert.deepEqual((messages as unknown[])[1], {
    role: 'assistant',
    content: null,
    // Many servers parse them, and none refuses an empty object.
    tool_calls: [{ id: 'c', type: 'function', function: { name: 'f', arguments: '{}' } }],
  })
})

test('a tool may answer with a picture', async () => {
  const picture = { type: 'input_image', image_url: IMAGE }
  const { messages } = await asked({
    input: [
      { type: 'function_call', call_id: 'c', name: 'f', arguments: '{}' },
      { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'See:' }, picture] },
    ],
  })
  // Providers of this format take pictures, and texts in parts, from users alone.
  assert.deepEqual((messages as unknown[]).slice(1), [
    { role: 'tool', tool_call_id: 'c', content: 'See:' },
    { role: 'user', content: [{ type: 'image_url', image_url: { url: IMAGE } }] },
  ])
})

test('tools, formats and settings reach the provider in its own words', async () => {
  const schema = { type: 'object', properties: { a: { type: 'string' } } }
  const sent = await asked({
    tools: [{ ...TOOL, description: 'does' }, { type: 'web_search' }, { type: 'mcp', server_label: 'x' }],
    tool_choice: { type: 'function', name: 'f' },
    parallel_tool_calls: false,
    text: { format: { type: 'json_schema', name: 'n', schema, strict: true }, verbosity: 'low' },
    reasoning: { effort: 'high', summary: 'auto' },
    max_output_tokens: 50,
    temperature: 0,
    top_p: 0.5,
    user: 'u',
    prompt_cache_key: 'k',
  })
  const { messages: _, model, ...rest } = sent
  assert.equal(model, 'mock,echo')
  assert.deepEqual(rest, {
    max_tokens: 50,
    tools: [
      { type: 'function', function: { name: 'f', description: 'does', parameters: TOOL.parameters, strict: true } },
    ],
    tool_choice: { type: 'function', function: { name: 'f' } },
    parallel_tool_calls: false,
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema, strict: true } },
    verbosity: 'low',
    reasoning_effort: 'high',
    temperature: 0,
    top_p: 0.5,
    user: 'u',
    prompt_cache_key: 'k',
  })
})

test('a choice among several tools drops the others', async () => {
  const tool_choice = { type: 'allowed_tools', mode: 'required', tools: [{ type: 'function', name: 'g' }] }
  const body = { tools: [TOOL, { ...TOOL, name: 'g' }], tool_choice }
  const sent = await asked(body)
  assert.equal(sent['tool_choice'], 'required')
  assert.deepEqual(
    (sent['tools'] as { function: { name: string } }[]).map((tool) => tool.function.name),
    ['g'],
  )
  const response = responseOf(await create(body))
  assert.deepEqual(response['tool_choice'], tool_choice)
  assert.equal((response['tools'] as unknown[]).length, 2)
})

test('fields that could change the bill are not forwarded', async () => {
  const sent = await asked({
    service_tier: 'priority',
    store: true,
    include: ['message.output_text.logprobs'],
    top_logprobs: 5,
    max_tool_calls: 3,
    metadata: { a: 'b' },
    truncation: 'auto',
    stream_options: { include_obfuscation: true },
    prompt_cache_retention: '24h',
    n: 4,
    background: false,
    provider: { order: ['x'] },
    webhook_url: 'x',
    previous_response_id: null,
    conversation: null,
    prompt: null,
    modalities: ['audio'],
    speed: 'fast',
    tools: [{ type: 'web_search' }],
  })
  assert.deepEqual(Object.keys(sent).sort(), ['max_tokens', 'messages', 'model'])
})

test('the response repeats the request and reports unsupported features', async () => {
  const response = responseOf(
    await create({
      instructions: 'i',
      metadata: { a: 'b' },
      temperature: 0.5,
      store: true,
      truncation: 'auto',
      user: 'u',
      service_tier: 'priority',
      safety_identifier: 's',
      reasoning: { effort: 'low' },
      max_output_tokens: 99,
      tools: [TOOL, { type: 'web_search' }],
      text: { format: { type: 'json_object' } },
    }),
  )
  const { id, created_at, completed_at, output, usage, receipt, ...rest } = response
  assert.match(id, /^req_/)
  assert.equal(id, receipt.request_id)
  assert.ok(Math.abs(created_at - Date.now() / 1000) < 60 && (completed_at ?? 0) >= created_at)
  assert.equal(output.length, 1)
  assert.equal(usage?.total_tokens, usage === null ? 0 : usage.input_tokens + usage.output_tokens)
  assert.deepEqual(rest, {
    object: 'response',
    status: 'completed',
    error: null,
    incomplete_details: null,
    model: M,
    previous_response_id: null,
    background: false,
    store: false,
    service_tier: 'default',
    truncation: 'disabled',
    max_tool_calls: null,
    instructions: 'i',
    max_output_tokens: 99,
    metadata: { a: 'b' },
    temperature: 0.5,
    top_p: 1,
    top_logprobs: 0,
    presence_penalty: 0,
    frequency_penalty: 0,
    prompt_cache_key: null,
    safety_identifier: 's',
    user: 'u',
    tool_choice: 'auto',
    parallel_tool_calls: true,
    tools: [{ ...TOOL, description: null }],
    text: { format: { type: 'json_object' } },
    reasoning: { effort: 'low', summary: null },
  })
})

test('the hold covers everything that the model reads, as for the same chat', async () => {
  const schema = { type: 'object', properties: { long: { type: 'string', description: 'd'.repeat(1_000) } } }
  const base = { max_output_tokens: 10 }
  const holdOf = async (body: Record<string, unknown>) =>
    Number(responseOf(await create({ ...base, ...body })).receipt.hold.units)
  const plain = await holdOf({})
  const history = [
    { role: 'user', content: 'hello' },
    { type: 'function_call', call_id: 'c', name: 'f', arguments: `"${'a'.repeat(1_998)}"` },
    { type: 'function_call_output', call_id: 'c', output: 'o'.repeat(2_000) },
  ]
  // Two bytes a token at 1,000 units a token: 1,000 bytes more cost 500,000 units more at least.
  const more: [body: Record<string, unknown>, bytes: number][] = [
    [{ instructions: 'i'.repeat(1_000) }, 1_000],
    [{ input: history }, 4_000],
    [{ tools: [{ ...TOOL, parameters: schema }] }, 1_000],
    [{ text: { format: { type: 'json_schema', name: 'n', schema } } }, 1_000],
    [{ input: images(1) }, 2_000],
  ]
  for (const [body, bytes] of more) {
    const hold = await holdOf(body)
    assert.ok(hold >= plain + bytes * 500, `${JSON.stringify(body).slice(0, 60)} is held at ${hold}, plain at ${plain}`)
  }
  const asChat = await post(stack.baseUrl, '/v1/chat/completions', apiKey, {
    model: M,
    max_tokens: 10,
    messages: [
      { role: 'system', content: 'i' },
      { role: 'user', content: 'hello' },
    ],
    tools: [{ type: 'function', function: { name: 'f', parameters: schema } }],
    response_format: { type: 'json_schema', json_schema: { name: 'n', schema } },
  })
  const { receipt } = JSON.parse(asChat.text) as { receipt: { hold: { units: string } } }
  const asResponse = await holdOf({
    instructions: 'i',
    tools: [{ type: 'function', name: 'f', parameters: schema }],
    text: { format: { type: 'json_schema', name: 'n', schema } },
  })
  assert.equal(asResponse, Number(receipt.hold.units))
})
