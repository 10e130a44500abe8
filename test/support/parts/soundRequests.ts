// Sound requests of every endpoint that takes JSON, and a proxy that serves them without sockets.
import { mediaModel } from '../clients/mediaClient.ts'
import { searchTool } from '../clients/toolClient.ts'
import { videoModel } from '../clients/videoClient.ts'
import {
  AGENT_CHAT,
  AGENT_MESSAGES,
  AGENT_RESPONSES,
  CURSOR_CHAT,
  MIXED_CHAT,
  PNG_URL,
} from '../samples/agentRequests.ts'
import { dataUrl, pngHead } from '../samples/pictures.ts'
import { OfflineProxy } from './offlineProxy.ts'

const FRAME = dataUrl('png', pngHead(64, 64))
const SCHEMA = { type: 'object', properties: { a: { type: 'string', enum: ['b'] } }, required: ['a'] }
const FUNCTION = { name: 'get', description: 'gets', parameters: SCHEMA }
const CALL = { id: 'c', type: 'function', function: { name: 'get', arguments: '{"a":1}' } }

const CHAT = {
  model: 'test/chat:cheapest',
  messages: [
    { role: 'system', content: 'be kind' },
    { role: 'developer', content: [{ type: 'text', text: 'x', cache_control: { type: 'ephemeral', ttl: '1h' } }] },
    { role: 'user', name: 'n', content: [{ type: 'image_url', image_url: { url: PNG_URL, detail: 'low' } }] },
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
        { type: 'input_image', image_url: PNG_URL },
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

type SoundRequest = readonly [path: string, body: object]

/** What is served to keys alone. */
const KEYED: readonly SoundRequest[] = [
  ['/v1/chat/completions', { ...CALLED, model: 'test/chat:batch', webhook_url: 'https://example.com/hook' }],
  ['/v1/chat/completions', AGENT_CHAT],
  ['/v1/chat/completions', MIXED_CHAT],
  ['/v1/chat/completions', CURSOR_CHAT],
  ['/v1/messages', MESSAGES],
  ['/v1/messages', AGENT_MESSAGES],
  ['/v1/messages/count_tokens', MESSAGES],
  ['/v1/responses', RESPONSES],
  ['/v1/responses', AGENT_RESPONSES],
  ['/v1/responses/compact', RESPONSES],
  ['/v1/responses/input_tokens', RESPONSES],
  ['/v1/tools/web.search', { query: 'x', count: 2, language: 'de', provider: { allow_retention: true } }],
]

/** What is served to keys and, under /x402, to whoever pays for the request itself. */
const SOLD: readonly SoundRequest[] = [
  ['/v1/chat/completions', CHAT],
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
]

const MCP: readonly SoundRequest[] = [
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

/** Sound requests by path, of every route that takes JSON and is served by the proxy itself. */
export const SOUND: readonly SoundRequest[] = [
  ...KEYED,
  ...SOLD,
  ...SOLD.map(([path, body]) => [`/x402${path}`, body] as const),
  ...MCP,
]

/** @param providers who serves chat: mock speaks the OpenAI dialect, claude the Anthropic one */
export function newProxy(providers: readonly string[] = ['mock', 'claude']): OfflineProxy {
  const asked = (model: string) => providers.map((provider) => ({ provider, model }))
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
        context: 50_000_000,
        endpoints: ['chat', 'messages', 'responses', ...(providers.includes('mock') ? ['completions'] : [])],
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
