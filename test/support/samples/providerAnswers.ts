// Answers of providers with every member that their formats know, in one piece and as the events of a stream.
const USAGE = {
  prompt_tokens: 5,
  completion_tokens: 7,
  total_tokens: 12,
  prompt_tokens_details: { cached_tokens: 2, audio_tokens: 0 },
  completion_tokens_details: { reasoning_tokens: 3 },
}
const SIGNED = { google: { thought_signature: 's' } }
const CITATION = { type: 'url_citation', url_citation: { url: 'u', title: 't', start_index: 0, end_index: 1 } }
const TOKEN = { token: 'hi', logprob: -1, bytes: [1], top_logprobs: [] }

const COMPLETION = {
  id: 'x',
  object: 'chat.completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      message: {
        role: 'assistant',
        content: 'hi',
        reasoning_content: 'r',
        refusal: null,
        annotations: [CITATION],
        tool_calls: [
          {
            id: 'c',
            index: 0,
            type: 'function',
            function: { name: 'get', arguments: '{"a":1}' },
            extra_content: SIGNED,
          },
        ],
      },
      logprobs: { content: [TOKEN] },
      finish_reason: 'tool_calls',
    },
  ],
  usage: USAGE,
  system_fingerprint: 'f',
}

/** The same in the forms of other providers. */
const ODD_COMPLETION = {
  id: 'x',
  choices: [
    {
      message: {
        role: 'assistant',
        content: [
          { type: 'text', text: 'hi' },
          { type: 'thinking', thinking: [{ type: 'text', text: 'a' }] },
        ],
        reasoning: 'r',
        reasoning_details: [{ type: 'reasoning.text', text: 'x' }],
        function_call: { name: 'get', arguments: { a: 1 } },
      },
      finish_reason: 'function_call',
    },
  ],
  x_groq: { usage: USAGE },
}

const TEXT = {
  id: 'x',
  object: 'text_completion',
  created: 1,
  model: 'm',
  choices: [
    {
      index: 0,
      text: 'abc',
      logprobs: { tokens: ['a'], token_logprobs: [-1], top_logprobs: [{ a: -1 }], text_offset: [0] },
      finish_reason: 'stop',
    },
  ],
  usage: USAGE,
}

const ERROR = {
  error: {
    message: 'm',
    type: 'rate_limit_error',
    code: 429,
    param: 'p',
    metadata: { raw: '{"error":{"message":"x"}}', provider_name: 'p' },
  },
  user_id: 'u',
}

const chunk = (delta: object, finish_reason: string | null = null) => ({
  id: 'x',
  object: 'chat.completion.chunk',
  created: 1,
  model: 'm',
  choices: [{ index: 0, delta, finish_reason, logprobs: null }],
})

const CHUNKS = [
  chunk({ role: 'assistant', content: '' }),
  chunk({ reasoning_content: 'a' }),
  chunk({ reasoning: 'b', reasoning_details: [{ type: 'reasoning.text', text: 'b' }] }),
  chunk({ content: 'hello' }),
  chunk({ content: [{ type: 'text', text: 'x' }] }),
  chunk({ refusal: 'no' }),
  chunk({ tool_calls: [{ index: 0, id: 'c', type: 'function', function: { name: 'get', arguments: '' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '{"a":' } }] }),
  chunk({ tool_calls: [{ index: 0, function: { arguments: '1}' } }] }),
  chunk({
    tool_calls: [{ index: 1, id: 'd', function: { name: 'put', arguments: { b: 1 } }, extra_content: SIGNED }],
  }),
  chunk({ function_call: { name: 'f', arguments: '{}' } }),
  chunk({}, 'tool_calls'),
  { ...chunk({}), choices: [], usage: USAGE },
]

const TEXT_CHUNKS = [
  {
    id: 'x',
    object: 'text_completion',
    created: 1,
    model: 'm',
    choices: [{ index: 0, text: 'a', finish_reason: null }],
  },
  { id: 'x', choices: [{ index: 0, text: 'b', finish_reason: 'length' }], usage: USAGE },
]

const MESSAGES_USAGE = {
  input_tokens: 5,
  output_tokens: 7,
  cache_read_input_tokens: 2,
  cache_creation_input_tokens: 3,
  cache_creation: { ephemeral_5m_input_tokens: 1, ephemeral_1h_input_tokens: 2 },
  server_tool_use: { web_search_requests: 0 },
  service_tier: 'standard',
}
const PLACE = { type: 'char_location', cited_text: 'c', document_index: 0, start_char_index: 0, end_char_index: 1 }

const MESSAGE = {
  id: 'msg',
  type: 'message',
  role: 'assistant',
  model: 'm',
  content: [
    { type: 'thinking', thinking: 't', signature: 's' },
    { type: 'redacted_thinking', data: 'd' },
    { type: 'text', text: 'hi', citations: [PLACE] },
    { type: 'tool_use', id: 'u', name: 'get', input: { a: 1 } },
  ],
  stop_reason: 'tool_use',
  stop_sequence: null,
  usage: MESSAGES_USAGE,
}

const delta = (index: number, piece: object) => ({ type: 'content_block_delta', index, delta: piece })
const start = (index: number, content_block: object) => ({ type: 'content_block_start', index, content_block })
const stop = (index: number) => ({ type: 'content_block_stop', index })

const EVENTS = [
  { type: 'message_start', message: { ...MESSAGE, content: [], stop_reason: null } },
  { type: 'ping' },
  start(0, { type: 'thinking', thinking: '', signature: '' }),
  delta(0, { type: 'thinking_delta', thinking: 'a' }),
  delta(0, { type: 'signature_delta', signature: 's' }),
  stop(0),
  start(1, { type: 'text', text: '' }),
  delta(1, { type: 'text_delta', text: 'hi' }),
  delta(1, { type: 'citations_delta', citation: PLACE }),
  stop(1),
  start(2, { type: 'tool_use', id: 'u', name: 'get', input: {} }),
  delta(2, { type: 'input_json_delta', partial_json: '{"a":1}' }),
  stop(2),
  { type: 'message_delta', delta: { stop_reason: 'tool_use', stop_sequence: null }, usage: MESSAGES_USAGE },
  { type: 'message_stop' },
]

/** Answers in one piece, and the events of streams, by the provider of `newProxy` that gives them. */
export const ANSWERS: Readonly<
  Record<string, { readonly whole: readonly object[]; readonly streams: readonly object[] }>
> = {
  mock: { whole: [COMPLETION, ODD_COMPLETION, TEXT, ERROR], streams: [CHUNKS, TEXT_CHUNKS] },
  claude: { whole: [MESSAGE, { type: 'error', ...ERROR }], streams: [EVENTS] },
}
