import { flag, integer, is, list, mapOf, number, openShape, orNull, ref, said, seconds, shape, text } from './shape.ts'

const CHAT_MESSAGE = openShape({
  role: text,
  content: orNull(text),
  'refusal?': orNull(text),
  'reasoning_content?': said('Of models that show their reasoning', orNull(text)),
  'tool_calls?': list(
    openShape({ id: text, type: text, 'function?': openShape({ name: text, arguments: said('JSON', text) }) }),
  ),
})

const COMPLETION_USAGE = openShape({
  prompt_tokens: integer,
  completion_tokens: integer,
  total_tokens: integer,
  'prompt_tokens_details?': openShape({ cached_tokens: integer, 'cache_write_tokens?': integer }),
  'completion_tokens_details?': openShape({ reasoning_tokens: integer }),
})

const GENERATED = openShape({
  created: seconds,
  'model?': text,
  data: list(openShape({ 'url?': text, 'b64_json?': text, 'revised_prompt?': text })),
  'usage?': { type: 'object' },
  receipt: ref('Receipt'),
})

/** Answers of the model endpoints, in the formats of the vendors that defined them, each with its receipt. */
export const MODEL_SHAPES = {
  ChatCompletion: said(
    'A chat completion in the OpenAI format',
    openShape({
      id: text,
      object: is('chat.completion'),
      model: text,
      'created?': seconds,
      choices: list(
        openShape({
          index: integer,
          message: CHAT_MESSAGE,
          'logprobs?': orNull({ type: 'object' }),
          finish_reason: orNull(text),
        }),
      ),
      usage: COMPLETION_USAGE,
      receipt: ref('Receipt'),
    }),
  ),
  ChatCompletionChunk: said(
    'An event of a streamed chat completion; the receipt is a comment line before [DONE]',
    openShape({
      id: text,
      object: is('chat.completion.chunk'),
      model: text,
      'created?': seconds,
      choices: list(openShape({ index: integer, delta: { type: 'object' }, 'finish_reason?': orNull(text) })),
      'usage?': orNull(COMPLETION_USAGE),
    }),
  ),
  Completion: said(
    'A text completion in the OpenAI format',
    openShape({
      id: text,
      object: is('text_completion'),
      model: text,
      'created?': seconds,
      choices: list(openShape({ index: integer, text, finish_reason: orNull(text) })),
      usage: COMPLETION_USAGE,
      receipt: ref('Receipt'),
    }),
  ),
  Message: said(
    'A message in the Anthropic format',
    openShape({
      id: text,
      type: is('message'),
      role: is('assistant'),
      model: text,
      content: list(openShape({ type: text, 'text?': text })),
      stop_reason: orNull(text),
      'stop_sequence?': orNull(text),
      usage: openShape({ input_tokens: integer, output_tokens: integer }),
      receipt: ref('Receipt'),
    }),
  ),
  InputTokens: shape({
    object: text,
    input_tokens: integer,
    estimated: said('Whether it was not counted by the model', flag),
  }),
  TokenCount: shape({ input_tokens: integer, estimated: said('Whether it was not counted by the model', flag) }),
  Response: said(
    'A response in the OpenAI Responses format',
    openShape({
      id: text,
      object: is('response'),
      created_at: seconds,
      status: text,
      model: text,
      output: list(openShape({ type: text })),
      usage: orNull(openShape({ input_tokens: integer, output_tokens: integer, total_tokens: integer })),
      receipt: ref('Receipt'),
    }),
  ),
  CompactedResponse: said(
    'A conversation that was summed up, in the OpenAI Responses format',
    openShape({
      id: text,
      object: is('response.compaction'),
      created_at: seconds,
      output: list(openShape({ type: text })),
      usage: openShape({ input_tokens: integer, output_tokens: integer, total_tokens: integer }),
      receipt: ref('Receipt'),
    }),
  ),
  Embeddings: shape({
    object: is('list'),
    data: list(
      openShape({
        object: is('embedding'),
        index: integer,
        embedding: { oneOf: [list(number), said('Base64 of 32-bit floats', text)] },
      }),
    ),
    model: text,
    usage: openShape({ prompt_tokens: integer, total_tokens: integer }),
    receipt: ref('Receipt'),
  }),
  Images: GENERATED,
  Transcription: openShape({
    text,
    usage: shape({ type: is('duration'), seconds: number }),
    receipt: ref('Receipt'),
  }),
  Rerank: openShape({
    id: text,
    object: is('list'),
    model: text,
    results: said(
      'The best first',
      list(
        openShape({
          index: said('Of the document in the request', integer),
          relevance_score: number,
          'document?': openShape({ text }),
        }),
      ),
    ),
    'usage?': { type: 'object' },
    receipt: ref('Receipt'),
  }),
  ToolResult: shape({
    id: text,
    object: is('tool.result'),
    tool: text,
    output: mapOf({}),
    receipt: ref('Receipt'),
  }),
  JsonRpc: openShape({ jsonrpc: is('2.0'), 'id?': { type: ['string', 'integer', 'null'] } }),
}
