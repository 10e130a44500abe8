import type { ContractLimits } from '../../../contract/limits/limits.ts'
import { FILE, integer, MAX_TOKENS, messagesOf, open, SAMPLING, text } from './bodyParts.ts'
import type { ProxyOperation } from './proxyOperation.ts'

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

const PROMPT = {
  type: ['string', 'array'],
  items: { type: 'string' },
  minItems: 1,
  maxItems: 1,
  description: 'A text, or an array of one text',
}

const STREAMED_IMAGES = {
  stream: { type: 'boolean', description: 'Server-sent events, with models whose provider has them' },
  partial_images: integer('How many images of a stream come on the way, 0 to 3; they are not charged'),
}

const chatOf = (limits: ContractLimits) =>
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

export interface Sold {
  readonly path: string
  readonly operation: Omit<ProxyOperation, 'auth'>
}

/** Operations that are sold to keys and, below /x402, to clients that pay per request. */
export const soldOf = (limits: ContractLimits): readonly Sold[] => [
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
          size: text('Width and height, such as 1024x1024; without one, a size that the model has a price for'),
          ...STREAMED_IMAGES,
        },
        ['prompt'],
      ),
      answers: { 200: 'Images' },
      streams: 'text',
    },
  },
  {
    path: '/v1/images/edits',
    operation: {
      summary: 'Edit an image',
      bodyType: 'multipart/form-data',
      body: open({ prompt: text('Description of the change'), image: FILE('The image to edit'), ...STREAMED_IMAGES }, [
        'prompt',
        'image',
      ]),
      answers: { 200: 'Images' },
      streams: 'text',
    },
  },
  {
    path: '/v1/audio/speech',
    operation: {
      summary: 'Convert a text to speech',
      body: open(
        {
          input: text('The text'),
          response_format: text('An audio format'),
          stream_format: text('audio, or sse for server-sent events, with models whose provider has them'),
        },
        ['input'],
      ),
      answerType: 'audio/*',
      streams: 'text',
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
