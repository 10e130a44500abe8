import type { TokenPrices } from '../reconcile.ts'
import type { TestModel } from '../testCatalog.ts'

/** Units per token. */
export const CHEAP: TokenPrices = { input: 1_000, cached: 1_000, output: 2_000 }
export const DEAR: TokenPrices = { input: 7_000, cached: 7_000, output: 11_000 }
export const price = ({ input, output }: TokenPrices) => ({
  input: String(input / 1_000),
  output: String(output / 1_000),
})
const FREE = { input: '0', output: '0' }
const ENDPOINTS = ['chat', 'completions', 'messages', 'responses']
const FEW = ['chat', 'messages', 'responses']

/** Answers that say that a prompt is too long, as providers do. */
export const TOO_LONG: Readonly<Record<string, readonly [status: number, body: unknown]>> = {
  code: [400, { error: { message: 'Too long.', type: 'invalid_request_error', code: 'context_length_exceeded' } }],
  openai: [
    400,
    {
      error: {
        message:
          "This model's maximum context length is 8192 tokens. However, your messages resulted in 9000 tokens. Please reduce them.",
        type: 'invalid_request_error',
        code: null,
      },
    },
  ],
  gemini: [
    400,
    {
      error: {
        message: 'The input token count (9000) exceeds the maximum number of tokens allowed (8192).',
        status: 'INVALID_ARGUMENT',
        code: 400,
      },
    },
  ],
  grok: [
    400,
    { code: 'Client error', error: "This model's maximum prompt length is 8192 but the request contains 9000 tokens." },
  ],
  bedrock: [400, { message: 'Input is too long for requested model.' }],
  sglang: [
    400,
    {
      object: 'error',
      message: "The input (9000 tokens) is longer than the model's context length (8192 tokens).",
      type: 'BadRequestError',
      code: 400,
    },
  ],
  llamacpp: [
    400,
    {
      error: {
        code: 400,
        message: 'the request exceeds the available context size.',
        type: 'exceed_context_size_error',
      },
    },
  ],
  inTokens: [
    422,
    {
      error: {
        message:
          'Input validation error: `inputs` tokens + `max_new_tokens` must be <= 8193. Given: 9000 `inputs` tokens',
        type: 'invalid_request_error',
      },
    },
  ],
}

/** A model over the dialect that its id begins with. */
const model = (id: string, upstream: string, members: object = {}) => {
  const dialect = id.slice(0, id.indexOf('/'))
  const endpoints = dialect === 'anthropic' ? FEW : ENDPOINTS
  return { id, endpoints, price: price(CHEAP), routes: [{ provider: dialect, model: `mock,${upstream}` }], ...members }
}

/**
 * Models at two prices whose upstream names say how they fail, over providers `openai`, `anthropic`, `keeps`, which keeps data, and
 * `scripted`, which answers by TOO_LONG.
 */
export function fallbackModels(): TestModel[] {
  const down = 'error=500'
  return [
    ...['openai', 'anthropic'].flatMap((dialect) => [
      model(`${dialect}/down`, down),
      model(`${dialect}/busy`, 'error=429'),
      model(`${dialect}/bad`, 'error=400'),
      model(`${dialect}/good`, 'prompt=40,completion=7,text=good'),
      model(`${dialect}/dear`, 'prompt=50,completion=5,text=dear', { price: price(DEAR) }),
      model(`${dialect}/narrow`, 'text=narrow', { max_output: 10 }),
    ]),
    ...Object.keys(TOO_LONG).map((name) => ({
      id: `long/${name}`,
      context: 8_192,
      max_output: 1_000,
      routes: [{ provider: 'scripted', model: name }],
    })),
    model('openai/keeps', down, { routes: [{ provider: 'keeps', model: 'mock,text=keeps' }] }),
    model('openai/off', '', { routes: [{ provider: 'openai', model: 'mock,text=off', enabled: false }] }),
    model('openai/unproven', 'text=unproven', { verified: false }),
    model('openai/two', '', {
      routes: [
        { provider: 'openai', model: 'mock,error=503' },
        { provider: 'openai', model: 'mock,error=502' },
      ],
    }),
    model('openai/small-context', 'text=small', { context: 4_000, max_output: 1_000 }),
    model('cat/any', down, {
      routes: [{ provider: 'openai', model: 'mock,error=500' }],
      fallbacks: [{ model: 'openai/dear' }],
    }),
    model('cat/busy-only', down, {
      routes: [{ provider: 'openai', model: 'mock,error=500' }],
      fallbacks: [{ model: 'openai/dear', on: ['rate_limited'] }],
    }),
    model('cat/each', down, {
      routes: [{ provider: 'openai', model: 'mock,error=500' }],
      fallbacks: [
        { model: 'openai/good', on: ['rate_limited', 'context_length'] },
        { model: 'openai/busy', on: ['unavailable'] },
        { model: 'openai/dear', on: ['rate_limited'] },
      ],
    }),
    model('cat/free', down, {
      price: FREE,
      routes: [{ provider: 'openai', model: 'mock,error=500' }],
      fallbacks: [{ model: 'openai/dear' }, { model: 'cat/free-too' }],
    }),
    model('cat/free-too', '', { price: FREE, routes: [{ provider: 'openai', model: 'mock,text=free' }] }),
    model('cat/free-alone', down, {
      price: FREE,
      routes: [{ provider: 'openai', model: 'mock,error=500' }],
      fallbacks: [{ model: 'openai/dear' }],
    }),
    model('cat/batch', '', {
      price: { ...price(CHEAP), batch_input: '0.5', batch_output: '1' },
      routes: [{ provider: 'openai', model: 'mock,text=batch' }],
    }),
  ]
}
