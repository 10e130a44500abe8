import type { ShapeName } from '../../../contract/api/answers/shapes.ts'
import { type JsonSchema, members, type ObjectSchema } from '../../../contract/api/route.ts'
import type { Limits } from '../../limits.ts'
import type { ProxyOperation } from './proxyOperation.ts'

const text = (description: string): JsonSchema => ({ type: 'string', description })
const integer = (description: string): JsonSchema => ({ type: 'integer', description })
const MODEL = text('The id of a model from GET /v1/models')
const FILE = (description: string): JsonSchema => ({ type: 'string', format: 'binary', description })

/** Bodies of models may have other members, which are forwarded to the provider unchanged. */
const open = (properties: Readonly<Record<string, JsonSchema>>, required: readonly string[]): ObjectSchema => ({
  ...members({ model: MODEL, ...properties }, ['model', ...required]),
  additionalProperties: true,
})

const spoken = (path: string, summary: string): Sold => ({
  path,
  operation: {
    summary,
    bodyType: 'multipart/form-data',
    body: open({ file: FILE('The audio file'), response_format: text('json, text, verbose_json, srt or vtt') }, [
      'file',
    ]),
    answers: { 200: 'Transcription' },
  },
})

const messagesOf = (limits: Limits): JsonSchema => ({
  type: 'array',
  minItems: 1,
  maxItems: limits.messagesMax,
  items: { type: 'object' },
  description: 'The conversation',
})
const SAMPLING = {
  stream: { type: 'boolean', description: 'Stream the answer as server-sent events' },
  temperature: { type: 'number', minimum: 0, maximum: 2, description: 'Sampling temperature' },
  provider: {
    type: 'object',
    description:
      'Routing and privacy preferences: allow_retention (true opts in to providers and tools that keep data, false opts out, ' +
      'absent takes the default of the key, else of the account), allow_registered (false keeps the request from the endpoints that other ' +
      'accounts have registered), max_price',
  },
}
const TOKENS = integer("Maximum number of output tokens, up to the model's max_output; determines the hold")
const MAX_TOKENS = { max_tokens: TOKENS, max_completion_tokens: TOKENS }

const PROMPT = {
  type: ['string', 'array'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: 1,
  description: 'A text, or an array of one text',
}

const chatOf = (limits: Limits) =>
  open(
    {
      messages: messagesOf(limits),
      ...MAX_TOKENS,
      ...SAMPLING,
      n: { type: 'integer', const: 1, description: 'Always 1' },
      tools: { type: 'array', maxItems: limits.toolsMax, items: { type: 'object' }, description: 'Functions to call' },
      response_format: { type: 'object', description: 'JSON mode, or a JSON schema' },
      reasoning_effort: text('Reasoning effort, for models that reason'),
      batch: { type: 'boolean', description: 'Submit the request as a batch job, which answers 202' },
      webhook_url: text('URL of the webhook that is sent when the batch job ends'),
    },
    ['messages'],
  )

interface Sold {
  readonly path: string
  readonly operation: Omit<ProxyOperation, 'auth'>
}

/** Operations that are sold to keys and, below /x402, to clients that pay per request. */
const soldOf = (limits: Limits): readonly Sold[] => [
  {
    path: '/v1/chat/completions',
    operation: {
      summary: 'Create a chat completion, streamed or not',
      body: chatOf(limits),
      answers: { 200: 'ChatCompletion', 202: 'BatchJob' },
      streams: 'ChatCompletionChunk',
    },
  },
  {
    path: '/v1/completions',
    operation: {
      summary: 'Create a text completion, with models that support it',
      body: open({ prompt: PROMPT, ...MAX_TOKENS, ...SAMPLING }, ['prompt']),
      answers: { 200: 'Completion' },
      streams: 'text',
    },
  },
  {
    path: '/v1/embeddings',
    operation: {
      summary: 'Create embeddings of texts',
      body: open({ input: { description: 'A text, or an array of texts' } }, ['input']),
      answers: { 200: 'Embeddings' },
    },
  },
  {
    path: '/v1/images/generations',
    operation: {
      summary: 'Generate images from a prompt',
      body: open(
        {
          prompt: text('Description of the image'),
          n: integer('Number of images'),
          size: text('Width and height, such as 1024x1024; auto chooses a size that the model has a price for'),
        },
        ['prompt'],
      ),
      answers: { 200: 'Images' },
    },
  },
  {
    path: '/v1/images/edits',
    operation: {
      summary: 'Edit an image',
      bodyType: 'multipart/form-data',
      body: open({ prompt: text('Description of the change'), image: FILE('The image to edit') }, ['prompt', 'image']),
      answers: { 200: 'Images' },
    },
  },
  {
    path: '/v1/audio/speech',
    operation: {
      summary: 'Convert a text to speech',
      body: open({ input: text('The text'), response_format: text('An audio format') }, ['input']),
      answerType: 'audio/*',
    },
  },
  spoken(
    '/v1/audio/transcriptions',
    'Transcribe an audio file (WAV, FLAC, MP3, Ogg, M4A, MP4 or WebM) of at most four hours',
  ),
  spoken('/v1/audio/translations', 'Transcribe an audio file as English text, whatever language is spoken'),
  {
    path: '/v1/rerank',
    operation: {
      summary: 'Rank documents by their relevance to a query',
      body: open(
        {
          query: text('The query'),
          documents: { type: 'array', maxItems: limits.rerankDocumentsMax, items: {}, description: 'Texts' },
        },
        ['query', 'documents'],
      ),
      answers: { 200: 'Rerank' },
    },
  },
  {
    path: '/v1/videos/generations',
    operation: {
      summary: 'Generate a video clip as a job',
      answers: { 202: 'Video' },
      body: open(
        {
          prompt: text('Description of the clip'),
          seconds: integer('Length of the clip in seconds'),
          image: text('The first frame, as a data URL of a PNG or JPEG'),
          aspect_ratio: text('Aspect ratio such as 16:9, for models that support it'),
          negative_prompt: text('Contents that the clip must not show, for models that support it'),
          resolution: text('The resolution of the model; each model has one'),
        },
        ['prompt'],
      ),
    },
  },
]

const soldOperations = (limits: Limits) =>
  soldOf(limits).flatMap(({ path, operation }): [string, ProxyOperation][] => [
    [`POST ${path}`, { ...operation, auth: 'key' }],
    [`POST /x402${path}`, { ...operation, summary: `${operation.summary}; paid per request`, auth: 'paid' }],
  ])

/** A read of JSON. */
const read = (
  summary: string,
  shape: ShapeName,
  auth: ProxyOperation['auth'] = 'none',
  ...paths: string[]
): ProxyOperation => ({
  summary,
  auth,
  answers: { 200: shape },
  ...(paths.length > 0 && { paths }),
})

/** A read of something else. */
const readText = (summary: string, answerType: string, ...paths: string[]): ProxyOperation => ({
  summary,
  auth: 'none',
  answerType,
  ...(paths.length > 0 && { paths }),
})

const CLIP: Readonly<Record<string, ProxyOperation>> = {
  '/v1/videos/{id}/content': { summary: 'Download the clip of a completed job', auth: 'key', answerType: 'video/mp4' },
}

/** By the method and path of the table of routes. */
export const proxyOperations = (limits: Limits): Readonly<Record<string, ProxyOperation>> => ({
  ...Object.fromEntries(soldOperations(limits)),
  'POST /v1/messages': {
    summary: 'Create a message with the chat models, in the Messages format of Anthropic',
    auth: 'key',
    body: open(
      {
        messages: messagesOf(limits),
        max_tokens: TOKENS,
        ...SAMPLING,
        temperature: { ...SAMPLING.temperature, maximum: 1 },
      },
      ['messages', 'max_tokens'],
    ),
    answers: { 200: 'Message' },
    streams: 'text',
  },
  'POST /v1/messages/count_tokens': {
    summary: 'Count the input tokens of a Messages request; free',
    auth: 'key',
    body: open({ messages: messagesOf(limits) }, ['messages']),
    answers: { 200: 'TokenCount' },
  },
  'POST /v1/responses': {
    summary: 'Create a response with the chat models, in the Responses format of OpenAI; nothing is stored',
    auth: 'key',
    body: open(
      {
        input: { description: 'A text, or an array of items with the history' },
        max_output_tokens: TOKENS,
        ...SAMPLING,
      },
      ['input'],
    ),
    answers: { 200: 'Response' },
    streams: 'text',
  },
  'POST /v1/responses/input_tokens': {
    summary: 'Count the input tokens of a response; free',
    auth: 'key',
    body: open({ input: { description: 'A text, or an array of items with the history' } }, ['input']),
    answers: { 200: 'InputTokens' },
  },
  'GET /v1/videos/*': { ...read('The state of a video job', 'Video', 'key', '/v1/videos/{id}'), below: CLIP },
  'GET /v1/models': read('The models that are available now', 'ModelList'),
  'GET /v1/models/*': read('One model', 'Model', 'none', '/v1/models/{id}'),
  'GET /v1/pricing': read('The price sheet in force', 'PriceSheet'),
  'GET /v1/pricing/sheets': read('Every price sheet ever served', 'PriceSheetList'),
  'GET /v1/pricing/sheets/*': read('One price sheet', 'PriceSheet', 'none', '/v1/pricing/sheets/{version}'),
  'GET /v1/limits': read('Rate limits, sizes and timeouts', 'Limits'),
  'GET /v1/receipts/*': read('One receipt with its position in the usage log', 'Receipt', 'key', '/v1/receipts/{id}'),
  'GET /v1/log/*': readText(
    'Tiles of the log of heads and, below its number, of each usage log with its checkpoint',
    'application/octet-stream',
    '/v1/log/tile/{level}/{tile}',
    '/v1/log/{log}/checkpoint',
    '/v1/log/{log}/tile/{level}/{tile}',
  ),
  'GET /x402/v1/receipts/*': read('The public receipt of any request', 'Receipt', 'none', '/x402/v1/receipts/{id}'),
  'GET /v1/tools': read('The priced tools', 'ToolList'),
  'GET /v1/tools/*': read('One priced tool', 'Tool', 'none', '/v1/tools/{id}'),
  'POST /v1/tools/*': {
    summary: 'Run a tool; the body is its input, which has to match its input_schema',
    auth: 'key',
    paths: ['/v1/tools/{id}'],
    body: { type: 'object', properties: {}, required: [] },
    answers: { 200: 'ToolResult' },
  },
  'POST /mcp': {
    summary: 'Model Context Protocol over streamable HTTP, without sessions; the body is one JSON-RPC message',
    auth: 'none',
    body: { type: 'object', properties: { jsonrpc: { const: '2.0' } }, required: ['jsonrpc'] },
    answers: { 200: 'JsonRpc' },
  },
  'GET /v1/status': read('The state of the service and its open incidents', 'Status'),
  'GET /v1/status/history': read('The daily state of the service', 'StatusHistory'),
  'GET /health': read('The state of the dependencies', 'Health'),
  'GET /ready': read('Whether requests can be served', 'Ready'),
  'GET /v1/openapi.json': readText('This document', 'application/json'),
  'GET /skill.md': readText('Instructions for agents that pay per request, as text', 'text/markdown'),
  'GET /llms.txt': readText('Overview of the API, as text for language models', 'text/plain'),
})
