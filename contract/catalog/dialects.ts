import { ENDPOINTS, type Endpoint } from './catalog.ts'

type Headers = Readonly<Record<string, string>>

/** The differences between the wire formats of providers, wherever a provider is called. */
interface DialectRow {
  /** The headers of the format: its version, and the provider's key unless that is ''. */
  readonly headers: (apiKey: string) => Headers
  /** Below the provider's base path; takes a chat in this format. */
  readonly chatPath: string
  /** The members of a chat's answer: the list that other formats lack, and in `usage` the tokens of prompt and output. */
  readonly answer: { readonly list: string; readonly usage: readonly [string, string] }
  /** Below the provider's base path; lists its models as {"data":[{"id":"..."}]}. */
  readonly modelsPath: string
  /** The endpoints that its providers can serve; each chat endpoint among them has a codec. */
  readonly endpoints: readonly Endpoint[]
  /** Its providers can run batch jobs: control speaks to them by /chat/completions, /files and /batches. */
  readonly batches: boolean
  /** Its providers count the tokens of a request at /messages/count_tokens. */
  readonly countsTokens: boolean
  /** Its requests say how much to think in members of the format itself. */
  readonly thinking: boolean
  /** Options of a chat that its requests have no member for. */
  readonly lacks: readonly string[]
  /** The most tokens of the prompt that its providers put before a request with tools. */
  readonly toolPromptTokens: number
}

/**
 * The wire formats of providers. A row that is added here names what else it needs: the code does not compile, or a test
 * fails, until every place has it.
 */
export const DIALECT = {
  openai: {
    headers: (apiKey): Headers => (apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }),
    chatPath: '/chat/completions',
    answer: { list: 'choices', usage: ['prompt_tokens', 'completion_tokens'] },
    modelsPath: '/models',
    endpoints: [
      'chat',
      'completions',
      'messages',
      'responses',
      'embeddings',
      'images',
      'image_edits',
      'speech',
      'transcriptions',
      'rerank',
      'videos',
    ],
    batches: true,
    countsTokens: false,
    thinking: false,
    lacks: [],
    toolPromptTokens: 0,
  },
  // A version of our own choice, whatever version a client names.
  anthropic: {
    headers: (apiKey): Headers => ({
      'anthropic-version': '2023-06-01',
      ...(apiKey !== '' && { 'x-api-key': apiKey }),
    }),
    chatPath: '/messages',
    answer: { list: 'content', usage: ['input_tokens', 'output_tokens'] },
    modelsPath: '/models',
    endpoints: ['chat', 'messages', 'responses'],
    batches: false,
    countsTokens: true,
    thinking: true,
    lacks: [
      'seed',
      'logit_bias',
      'logprobs',
      'top_logprobs',
      'frequency_penalty',
      'presence_penalty',
      'repetition_penalty',
      'min_p',
      'verbosity',
      'prompt_cache_key',
    ],
    // The most that Anthropic states, rounded up.
    toolPromptTokens: 600,
  },
} as const satisfies Record<string, DialectRow>
export type Dialect = keyof typeof DIALECT
export const DIALECTS = Object.keys(DIALECT) as readonly Dialect[]

/** The dialect of a registered provider that names none. */
export const USUAL_DIALECT: Dialect = 'openai'

/** The endpoints that providers of a dialect can serve. */
export type EndpointOf<D extends Dialect> = (typeof DIALECT)[D]['endpoints'][number]

/** Whether `text` is a dialect that this version knows; records of a later version may name others. */
export function isDialect(text: string): text is Dialect {
  return Object.hasOwn(DIALECT, text)
}

/** The dialects whose rows pass. */
export function dialectsWith(pass: (row: DialectRow) => boolean): ReadonlySet<Dialect> {
  return new Set(DIALECTS.filter((dialect) => pass(DIALECT[dialect])))
}

/** The dialects whose providers can serve each endpoint. */
export const DIALECTS_OF = Object.fromEntries(
  ENDPOINTS.map((endpoint) => [endpoint, dialectsWith(({ endpoints }) => endpoints.includes(endpoint))]),
) as Readonly<Record<Endpoint, ReadonlySet<Dialect>>>
