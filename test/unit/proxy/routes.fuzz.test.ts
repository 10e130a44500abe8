// Goal: no body, however broken, is a fault of the gateway. Method: sound requests of every endpoint that takes JSON are
// mutated at random and served by the proxy's own routes without sockets; what is not an error of the table fails, and so
// does a status of 500. The seed is in the message; SLUICE_FUZZ_SEED repeats it.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inspect } from 'node:util'
import { mediaModel } from '../../support/clients/mediaClient.ts'
import { searchTool } from '../../support/clients/toolClient.ts'
import { videoModel } from '../../support/clients/videoClient.ts'
import { OfflineProxy } from '../../support/parts/offlineProxy.ts'
import { Mutator, seededRandom } from '../../support/samples/mutations.ts'
import { dataUrl, pngHead } from '../../support/samples/pictures.ts'

const MUTATIONS = 100_000
const AT_ONCE = 100
const PNG = 'data:image/png;base64,iVBORw0KGgo='
const FRAME = dataUrl('png', pngHead(64, 64))
const SCHEMA = { type: 'object', properties: { a: { type: 'string', enum: ['b'] } }, required: ['a'] }
const FUNCTION = { name: 'get', description: 'gets', parameters: SCHEMA }
const CALL = { id: 'c', type: 'function', function: { name: 'get', arguments: '{"a":1}' } }

const CHAT = {
  model: 'test/chat:cheapest',
  messages: [
    { role: 'system', content: 'be kind' },
    { role: 'developer', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    { role: 'user', name: 'n', content: [{ type: 'image_url', image_url: { url: PNG, detail: 'low' } }] },
    { role: 'assistant', content: null, refusal: 'no', reasoning_content: 'why', tool_calls: [CALL] },
    { role: 'tool', tool_call_id: 'c', content: [{ type: 'text', text: 'one' }] },
    { role: 'assistant', content: [{ type: 'refusal', refusal: 'will not' }] },
    { role: 'user', content: 'go' },
  ],
  max_tokens: 10,
  max_completion_tokens: 10,
  stream: true,
  stream_options: { include_usage: true },
  temperature: 1,
  top_p: 0.5,
  top_k: 3,
  min_p: 0.1,
  n: 1,
  stop: ['a'],
  seed: 7,
  user: 'u',
  verbosity: 'low',
  frequency_penalty: 0,
  presence_penalty: 0,
  logit_bias: { '5': 1 },
  logprobs: true,
  top_logprobs: 2,
  tools: [{ type: 'function', function: FUNCTION }],
  tool_choice: { type: 'function', function: { name: 'get' } },
  parallel_tool_calls: false,
  reasoning_effort: 'low',
  response_format: { type: 'json_schema', json_schema: { name: 's', strict: true, schema: SCHEMA } },
  provider: { allow_retention: true, max_price: { prompt: '9', completion: 9.5 } },
}

const MESSAGES = {
  model: 'test/chat',
  max_tokens: 5_000,
  system: [{ type: 'text', text: 'be kind', cache_control: { type: 'ephemeral' } }],
  messages: [
    { role: 'user', content: [{ type: 'image', source: { type: 'base64', media_type: 'image/png', data: 'QUJD' } }] },
    {
      role: 'assistant',
      content: [
        { type: 'thinking', thinking: 't', signature: 's' },
        { type: 'text', text: 'x' },
      ],
    },
    { role: 'assistant', content: [{ type: 'tool_use', id: 'a', name: 'get', input: { a: [1, 2] } }] },
    { role: 'user', content: [{ type: 'tool_result', tool_use_id: 'a', content: [{ type: 'text', text: 'y' }] }] },
    { role: 'user', content: [{ type: 'document', title: 't', source: { type: 'text', data: 'd' } }] },
    { role: 'user', content: 'go' },
  ],
  tools: [{ name: 'get', description: 'gets', input_schema: SCHEMA, cache_control: { type: 'ephemeral', ttl: '5m' } }],
  tool_choice: { type: 'tool', name: 'get', disable_parallel_tool_use: true },
  thinking: { type: 'enabled', budget_tokens: 1_024 },
  output_config: { effort: 'low', format: { type: 'json_schema', schema: SCHEMA } },
  metadata: { user_id: 'u' },
  stop_sequences: ['a'],
  stream: true,
  temperature: 1,
  top_p: 0.9,
  top_k: 5,
}

const RESPONSES = {
  model: 'test/chat',
  instructions: 'be kind',
  input: [
    {
      role: 'user',
      content: [
        { type: 'input_text', text: 'x' },
        { type: 'input_image', image_url: PNG },
      ],
    },
    { type: 'message', role: 'assistant', content: [{ type: 'output_text', text: 'y', annotations: [] }] },
    { type: 'reasoning', id: 'r', summary: [{ type: 'summary_text', text: 's' }] },
    { type: 'function_call', call_id: 'c', name: 'get', arguments: '{}' },
    { type: 'function_call_output', call_id: 'c', output: [{ type: 'input_text', text: 'one' }] },
    { role: 'user', content: 'go' },
  ],
  tools: [{ type: 'function', ...FUNCTION, strict: true }],
  tool_choice: { type: 'function', name: 'get' },
  text: { format: { type: 'json_schema', name: 's', schema: SCHEMA }, verbosity: 'low' },
  reasoning: { effort: 'low', summary: 'auto' },
  metadata: { a: 'b' },
  include: ['reasoning.encrypted_content'],
  max_output_tokens: 20,
  stream: true,
  store: false,
  temperature: 1,
  top_p: 0.5,
  user: 'u',
  truncation: 'disabled',
}

const mcp = (name: string, input: object) => ({
  jsonrpc: '2.0',
  id: 1,
  method: 'tools/call',
  params: { name, arguments: input, _meta: { 'sluice/deadline': '2099-01-01T00:00:00Z', 'sluice/approval-id': 'a' } },
})
const { stream: _streamed, stream_options: _options, ...CALLED } = CHAT

/** Sound requests by path. */
const SOUND: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', CHAT],
  ['/v1/chat/completions', { ...CALLED, model: 'test/chat:batch', webhook_url: 'https://example.com/hook' }],
  ['/v1/messages', MESSAGES],
  ['/v1/messages/count_tokens', MESSAGES],
  ['/v1/responses', RESPONSES],
  [
    '/v1/completions',
    { model: 'test/chat', prompt: ['x'], suffix: 'y', echo: false, max_tokens: 5, stop: 'a', logprobs: 2, best_of: 1 },
  ],
  [
    '/v1/embeddings',
    { model: 'test/embedding', input: ['a', 'b'], dimensions: 5, encoding_format: 'base64', user: 'u' },
  ],
  ['/v1/embeddings', { model: 'test/embedding', input: [[1, 2], [3]] }],
  ['/v1/images/generations', { model: 'test/image', prompt: 'x', n: 2, size: '512x512', response_format: 'b64_json' }],
  [
    '/v1/audio/speech',
    { model: 'test/speech', input: 'x', voice: { id: 'v' }, response_format: 'mp3', speed: 1, instructions: 'slow' },
  ],
  [
    '/v1/rerank',
    { model: 'test/rerank', query: 'q', documents: ['a', { text: 'b' }], top_n: 1, return_documents: true },
  ],
  [
    '/v1/videos/generations',
    {
      model: 'test/video',
      prompt: 'x',
      seconds: 4,
      image: FRAME,
      aspect_ratio: '16:9',
      negative_prompt: 'y',
      resolution: '720p',
    },
  ],
  ['/v1/tools/web.search', { query: 'x', count: 2, language: 'de', provider: { allow_retention: true } }],
  ['/mcp', mcp('chat', CALLED)],
  ['/mcp', mcp('quote', CALLED)],
  ['/mcp', mcp('receipt', { request_id: 'req_1' })],
  [
    '/mcp',
    {
      jsonrpc: '2.0',
      id: 'a',
      method: 'initialize',
      params: { protocolVersion: '2025-06-18', capabilities: {}, clientInfo: { name: 'x', version: '1' } },
    },
  ],
]

function newProxy(): OfflineProxy {
  const asked = (model: string) => ['mock', 'claude'].map((provider) => ({ provider, model }))
  return new OfflineProxy({
    providers: [
      { id: 'mock', batch: true },
      { id: 'claude', dialect: 'anthropic' },
    ],
    models: [
      {
        id: 'test/chat',
        routes: asked('m'),
        thinking: 'budget',
        endpoints: ['chat', 'completions', 'messages', 'responses'],
        price: { input: '1', output: '2', batch_input: '0.5', batch_output: '1' },
      },
      mediaModel('test/embedding', 'embedding'),
      mediaModel('test/image', 'image'),
      mediaModel('test/speech', 'speech'),
      mediaModel('test/rerank', 'rerank'),
      videoModel('test/video', 'mock', {
        video: {
          seconds: [4, 8],
          image: 'optional',
          aspect_ratios: ['16:9'],
          negative_prompt: 100,
          resolution: '720p',
        },
      }),
    ],
    tools: [searchTool('web.search')],
  })
}

test('the sound requests reach a provider, or control', async () => {
  for (const [path, body] of SOUND) {
    const proxy = newProxy()
    const { status, text } = await proxy.send(path, Buffer.from(JSON.stringify(body)))
    assert.deepEqual(proxy.faults, [], path)
    assert.ok([200, 429, 502, 503].includes(status), `${path}: ${status} ${text}`)
  }
})

test(`of ${MUTATIONS} broken requests none is a fault of the gateway`, async () => {
  const seed = Number(process.env['SLUICE_FUZZ_SEED'] ?? Date.now() % 2 ** 31)
  const mutator = new Mutator(seededRandom(seed))
  const proxy = newProxy()
  const sound = SOUND.map(([path, body]) => ({ path, text: JSON.stringify(body) }))
  const statuses = new Map<number, number>()
  for (let sent = 0; sent < MUTATIONS; sent += AT_ONCE) {
    const requests = Array.from({ length: AT_ONCE }, (_one, i) => {
      const { path, text } = sound[(sent + i) % sound.length] ?? assert.fail()
      return { path, bytes: mutator.mutate(text) }
    })
    const replies = await Promise.all(requests.map(({ path, bytes }) => proxy.send(path, bytes)))
    for (const [i, { status, text }] of replies.entries()) {
      statuses.set(status, (statuses.get(status) ?? 0) + 1)
      const { path, bytes } = requests[i] ?? assert.fail()
      const isFault = status === 500 || text.includes('"internal_error"')
      const shown = isFault ? `${path} ${bytes.toString().slice(0, 2_000)}\n${inspect(proxy.faults[0])}` : ''
      assert.ok(!isFault, `seed ${seed}: ${shown}`)
    }
    assert.deepEqual(proxy.faults, [], `seed ${seed}`)
  }
  // Many have to pass the readers, else what comes behind them is not tried.
  assert.ok(proxy.asked > MUTATIONS / 20, `${proxy.asked} reached a provider: ${JSON.stringify([...statuses])}`)
  assert.ok((statuses.get(400) ?? 0) > MUTATIONS / 4, JSON.stringify([...statuses]))
})
