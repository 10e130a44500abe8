// Goal: whichever models a request lists, and however they fail, the client gets the answer of the first that serves, is charged by
// its sheet and never above the hold, and the book holds. Method: random lists over models whose upstream names say how they fail,
// each at its own price; then every fault of a stream with another model behind it.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import fc from 'fast-check'
import type { Served } from '../../../mock/main.ts'
import { type ErrorBody, type Receipt, takeApart } from '../../support/clients/chatClient.ts'
import { takeMessagesApart } from '../../support/clients/messagesClient.ts'
import { post } from '../../support/clients/responsesClient.ts'
import { itemOf, present } from '../../support/present.ts'
import { chargeOf, type TokenPrices } from '../../support/reconcile.ts'
import { rounds } from '../../support/rounds.ts'
import { type Stack, startStack } from '../../support/stack.ts'
import type { TestModel } from '../../support/testCatalog.ts'

/** What becomes of a request at a model. */
type Fate =
  /** An answer, with a usage or without. */
  | 'serves'
  | 'estimates'
  /** A stream that breaks off after its first output. */
  | 'breaks'
  /** The next model is asked. */
  | 'fails'
  | 'limits'
  /** The request ends. */
  | 'rejects'

interface Planned {
  readonly upstream: string
  readonly fate: Fate
  /** Without a stream. */
  readonly whole: Fate
  readonly prices: TokenPrices
}

const MODELS: readonly Planned[] = (
  [
    ['prompt=21', 'serves'],
    ['prompt=22,completion=4', 'serves'],
    ['prompt=9000,completion=9000', 'serves'],
    ['usage=none', 'estimates'],
    ['cut=3', 'breaks', 'fails'],
    ['error=500', 'fails'],
    ['error=529', 'fails'],
    ['error=404', 'fails'],
    ['reset', 'fails'],
    ['html200', 'fails'],
    ['error_in_stream=0', 'fails', 'serves'],
    ['error=429', 'limits'],
    ['error=400', 'rejects'],
  ] as const
).map(([upstream, fate, whole = fate], at) => {
  // Prices differ, so that a charge by another model's sheet is seen.
  const [input, output] = [1_000 + 100 * at, 3_000 + 1_000 * ((at * 5) % 13)]
  return { upstream, fate, whole, prices: { input, cached: input, output } }
})
const ENDPOINTS = ['chat', 'messages', 'responses'] as const
const DIALECTS = ['openai', 'anthropic'] as const
type Dialect = (typeof DIALECTS)[number]
const LISTED_MAX = 4
const RUN_REQUESTS = 50
const LIMITS = {
  breakerFailures: 1_000_000,
  idleTimeoutMs: 6_000,
  firstByteTimeoutMs: 6_000,
  estimateTimeoutMs: 20_000,
}

const idOf = (dialect: string, at: number) => `${dialect}/m${at}`
const price = ({ input, output }: TokenPrices) => ({ input: String(input / 1_000), output: String(output / 1_000) })

/** A request over some of the models. */
interface Listed {
  readonly endpoint: (typeof ENDPOINTS)[number]
  readonly stream: boolean
  readonly maxTokens: number
  /** Dialect and place of each model. */
  readonly models: readonly (readonly [dialect: (typeof DIALECTS)[number], at: number])[]
}

const listed: fc.Arbitrary<Listed> = fc.record({
  endpoint: fc.constantFrom(...ENDPOINTS),
  stream: fc.boolean(),
  maxTokens: fc.integer({ min: 5, max: 40 }),
  models: fc.uniqueArray(fc.tuple(fc.constantFrom(...DIALECTS), fc.nat({ max: MODELS.length - 1 })), {
    minLength: 1,
    maxLength: LISTED_MAX,
    selector: ([dialect, at]) => idOf(dialect, at),
  }),
})

/** The end of a request as its client sees it. */
interface Seen {
  readonly requestId: string
  readonly status: number
  readonly servedModel: string | null
  readonly receipt: Receipt | null
  /** The code of the error that it ended with. */
  readonly error: string | null
}

async function send(stack: Stack, apiKey: string, { endpoint, stream, maxTokens, models }: Listed): Promise<Seen> {
  const [model, ...others] = models.map(([dialect, at]) => idOf(dialect, at))
  const messages = [{ role: 'user', content: 'hello' }]
  const body = { model, models: others, stream }
  const reply =
    endpoint === 'responses'
      ? await post(stack.baseUrl, '/v1/responses', apiKey, { ...body, input: 'hello', max_output_tokens: maxTokens })
      : await post(stack.baseUrl, endpoint === 'chat' ? '/v1/chat/completions' : '/v1/messages', apiKey, {
          ...body,
          messages,
          max_tokens: maxTokens,
        })
  const { status, headers, text } = reply
  const seen = { requestId: headers.get('x-request-id') ?? '', status, servedModel: headers.get('x-served-model') }
  if (status !== 200) return { ...seen, receipt: null, error: (JSON.parse(text) as ErrorBody).error.code }
  if (!stream) return { ...seen, receipt: (JSON.parse(text) as { receipt: Receipt }).receipt, error: null }
  const receipt = endpoint === 'messages' ? takeMessagesApart(reply).receipt : takeApart(reply).receipt
  return { ...seen, receipt, error: text.includes('stream_interrupted') ? 'stream_interrupted' : null }
}

/** The places of the models that are asked, and what comes of the request at the last of them. */
function courseOf({ models, stream }: Listed): { readonly asked: number; readonly fate: Fate } {
  for (const [place, [, at]] of models.entries()) {
    const { fate: streamed, whole } = itemOf(MODELS, at)
    const fate = stream ? streamed : whole
    const goesOn = fate === 'fails' || fate === 'limits'
    if (!goesOn || place === models.length - 1) return { asked: place + 1, fate }
  }
  throw new RangeError('a request lists a model')
}

const REFUSALS: Readonly<Partial<Record<Fate, readonly [status: number, code: string]>>> = {
  fails: [502, 'upstream_unavailable'],
  limits: [429, 'rate_limited'],
  rejects: [400, 'upstream_rejected'],
}

function assertCourse(request: Listed, seen: Seen, log: readonly Served[]): void {
  const { asked, fate } = courseOf(request)
  const what = `${JSON.stringify(request)} got ${JSON.stringify(seen)}`
  const upstreams = log.filter(({ request_id: id }) => id === seen.requestId).map(({ model }) => model)
  const expected = request.models.slice(0, asked).map(([dialect, at]) => upstreamOf(dialect, at))
  // A connection that is reset is tried once more on a new one.
  assert.deepEqual([...new Set(upstreams)], expected, what)
  const [dialect, at] = itemOf(request.models, asked - 1)
  const isAnswer = fate === 'serves' || fate === 'estimates' || fate === 'breaks'
  if (!isAnswer) {
    assert.deepEqual([seen.status, seen.error, seen.receipt], [...present(REFUSALS[fate]), null], what)
    return
  }
  assert.equal(seen.status, 200, what)
  assert.equal(seen.error, fate === 'breaks' ? 'stream_interrupted' : null, what)
  const receipt = present(seen.receipt ?? undefined)
  assert.deepEqual([receipt.model, seen.servedModel], [idOf(dialect, at), idOf(dialect, at)], what)
  assertCharge(receipt, itemOf(MODELS, at).prices, what)
}

/** A receipt charges its usage at the prices of the model that served, up to the hold. */
function assertCharge({ cost, hold, usage, status }: Receipt, prices: TokenPrices, what: string): void {
  assert.ok(status === 'ok' || status === 'partial', what)
  const due = chargeOf(
    { prompt_tokens: usage.prompt_tokens, completion_tokens: usage.completion_tokens } as Parameters<
      typeof chargeOf
    >[0],
    prices,
  )
  assert.equal(Number(cost.units), Math.min(due, Number(hold.units)), what)
}

const upstreamOf = (dialect: string, at: number) => `mock,${itemOf(MODELS, at).upstream},text=${idOf(dialect, at)}`

function modelOf(dialect: Dialect, id: string, prices: TokenPrices, model: string): TestModel {
  return { id, endpoints: [...ENDPOINTS], price: price(prices), routes: [{ provider: dialect, model }] }
}

/** Starts a stack with a provider of each dialect, and models of each. */
function startModels(modelsOf: (dialect: Dialect) => readonly TestModel[]): Promise<Stack> {
  const providers = DIALECTS.map((dialect) => ({ id: dialect, dialect }))
  return startStack({ limits: LIMITS, catalog: { providers, models: DIALECTS.flatMap(modelsOf) } })
}

describe('random lists of models', () => {
  let stack: Stack
  let apiKey: string

  before(async () => {
    stack = await startModels((dialect) =>
      MODELS.map(({ prices }, at) => modelOf(dialect, idOf(dialect, at), prices, upstreamOf(dialect, at))),
    )
    apiKey = (await stack.createAccount({ credits: '1000' })).apiKey
  })

  after(() => stack.finish())

  test('the first model that serves is charged by its own sheet, within the hold', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(listed, { minLength: RUN_REQUESTS, maxLength: RUN_REQUESTS, size: 'max' }),
        async (requests) => {
          const since = (await stack.provider.log()).length
          const seen = await Promise.all(requests.map((request) => send(stack, apiKey, request)))
          const log = await stack.provider.log(since)
          for (const [i, request] of requests.entries()) assertCourse(request, itemOf(seen, i), log)
        },
      ),
      { numRuns: rounds({ short: 4, long: 40 }), endOnFailure: true, includeErrorInReport: true },
    )
  })
})

/** Faults before the first output, after which the next model serves. */
const USELESS = [
  'reset',
  'html200',
  'badjson',
  'error=500',
  'error=529',
  'error=503,err_body=html',
  'error=401',
  'error=404',
  'error=429',
  'error_in_stream=0',
  'cut=0',
  'fin=0',
]
/** Faults after it, which end the stream. */
const BROKEN = ['cut=3', 'fin=3', 'hang=3', 'error_in_stream=3', 'badframe=3']
/** Answers whose usage is missing or nonsense. */
const UNREPORTED = ['usage=none', 'usage=negative', 'usage=fractional', 'usage=absurd']

describe('every fault of a stream, with another model behind it', () => {
  const FAULTY: TokenPrices = { input: 2_000, cached: 2_000, output: 3_000 }
  const SPARE: TokenPrices = { input: 5_000, cached: 5_000, output: 7_000 }
  const nameOf = (behaviour: string) => behaviour.replaceAll(/[^a-z0-9]+/g, '-')
  let stack: Stack
  let apiKey: string

  before(async () => {
    stack = await startModels((dialect) => {
      const spare = `${dialect === 'openai' ? 'anthropic' : 'openai'}/spare`
      const faulty = [...USELESS, ...BROKEN, ...UNREPORTED].map((behaviour) => ({
        ...modelOf(dialect, `${dialect}/${nameOf(behaviour)}`, FAULTY, `mock,chunks=12,${behaviour}`),
        fallbacks: [{ model: spare }],
      }))
      return [...faulty, modelOf(dialect, `${dialect}/spare`, SPARE, 'mock,chunks=12,prompt=11')]
    })
    apiKey = (await stack.createAccount({ credits: '100' })).apiKey
  })

  after(() => stack.finish())

  for (const behaviour of [...USELESS, ...BROKEN, ...UNREPORTED]) {
    const falls = USELESS.includes(behaviour)
    test(`${behaviour}: ${falls ? 'the other model serves' : 'the model is charged, and no other is asked'}`, async () => {
      await Promise.all(
        DIALECTS.flatMap((dialect) =>
          ['/v1/chat/completions', '/v1/messages', '/v1/responses'].map(async (path) => {
            const faulty = `${dialect}/${nameOf(behaviour)}`
            const spare = `${dialect === 'openai' ? 'anthropic' : 'openai'}/spare`
            const prompt =
              path === '/v1/responses'
                ? { input: 'hello', max_output_tokens: 50 }
                : { messages: [{ role: 'user', content: 'hello' }], max_tokens: 50 }
            const reply = await post(stack.baseUrl, path, apiKey, { model: faulty, stream: true, ...prompt })
            assert.equal(reply.status, 200, `${path} ${faulty}: ${reply.text}`)
            const receipt = present(
              (path === '/v1/messages' ? takeMessagesApart(reply) : takeApart(reply)).receipt ?? undefined,
            )
            assert.equal(receipt.model, falls ? spare : faulty)
            assert.equal(reply.headers.get('x-served-model'), receipt.model)
            assertCharge(receipt, falls ? SPARE : FAULTY, `${path} ${faulty}`)
            const isBroken = BROKEN.includes(behaviour)
            assert.equal(reply.text.includes('stream_interrupted'), isBroken)
            assert.equal(receipt.status, isBroken ? 'partial' : 'ok')
            const asked = (await stack.provider.log()).filter(({ request_id: id }) => id === receipt.request_id)
            assert.equal(asked.at(-1)?.model.endsWith('prompt=11'), falls)
          }),
        ),
      )
    })
  }
})
