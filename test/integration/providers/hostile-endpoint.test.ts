// Goal: a registered endpoint costs customers nothing beyond honest usage and refuses nobody, whatever it does. Method: it is
// asked first for every request to a model, beside the model's own route, and plays each trick by itself and random mixes of
// them; each answer is compared with what the client was given, and the book is audited at the end.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { countTokens } from 'gpt-tokenizer/encoding/o200k_base'
import { SERVING_KEY } from '../../../contract/wire/redisKeys.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { apiOk, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { postTo, type Reply } from '../../support/clients/chatClient.ts'
import { HealthWatch } from '../../support/clients/healthWatch.ts'
import { limits } from '../../support/limits.ts'
import { itemOf } from '../../support/present.ts'
import { EVIL_TEXT, mixes, play, TRICKS, type Trick } from '../../support/providers/hostileEndpoint.ts'
import { RegisteredEndpoint } from '../../support/providers/registeredEndpoint.ts'
import { rounds } from '../../support/rounds.ts'
import { newSeed } from '../../support/samples/mutations.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const MODEL = 'test/evil'
/** Of the prices of a test's model. */
const UNITS_PER_TOKEN = { prompt: 1_000, output: 2_000 }
const MAX_TOKENS = 24
/** What docs/reference/providers.md says a report may exceed the gateway's count by. */
const mostFor = (tokens: number): number => Math.ceil(tokens * 1.5) + 16
/** Of the one message, with what chat formats add. */
const PROMPT_TOKENS = 1 + 4 + 3
/** Requests that meet each mix. */
const AT_ONCE = 3
const MIXES = rounds({ short: 8, long: 200 })
const MANY = 1_000_000_000

let stack: Stack
let pool: Pool
let endpoint: RegisteredEndpoint
let client: Owner
let evil = ''

before(async () => {
  stack = await startStack({
    catalog: {
      models: [
        {
          id: MODEL,
          upstream: `chat-small,prompt=${PROMPT_TOKENS},completion=3,chunks=3`,
          endpoints: ['chat', 'messages', 'responses', 'completions'],
        },
      ],
    },
    env: { SLUICE_PRIVATE_PROVIDERS: '1' },
    // Nothing takes the endpoint out of service, so that it meets every request.
    limits: { breakerFailures: MANY, providerRequestsMin: MANY, providerOverReportsMin: MANY, providerJudgeMs: 100 },
  })
  pool = createPool(stack.databaseUrl, limits)
  endpoint = new RegisteredEndpoint(stack.provider.url())
  await endpoint.start()
  const owner = await newOwner(stack)
  client = await newOwner(stack, { coin: '50' })
  const body = { name: 'evil', base_url: endpoint.url('evil'), data_policy: 'none', offered: true }
  evil = (await apiOk<{ id: string }>(stack.baseUrl, 'POST', '/v1/providers', { token: owner.token, body })).id
  const shares = ['--canary', '1', '--full', '1', '--share', '0.7', '--first-output', '150']
  const admitted = await stack.cli('provider', 'admit', evil, MODEL, '--upstream-model', 'evil', ...shares)
  assert.equal(admitted.code, 0, admitted.stderr)
  await stack.withRedis((redis) =>
    until('it serves', async () => (await redis.getBuffer(SERVING_KEY))?.includes(evil) ?? false),
  )
})

after(async () => {
  await endpoint.stop()
  await pool.end()
  await stack.finish()
})

const HELLO = [{ role: 'user', content: 'hello' }]
const REQUESTS: readonly (readonly [path: string, body: object])[] = [
  ['/v1/chat/completions', { messages: HELLO, max_tokens: MAX_TOKENS }],
  ['/v1/messages', { messages: HELLO, max_tokens: MAX_TOKENS }],
  ['/v1/responses', { input: 'hello', max_output_tokens: MAX_TOKENS }],
  ['/v1/completions', { prompt: 'hello', max_tokens: MAX_TOKENS }],
]

interface Sent {
  readonly id: string
  readonly reply: Reply
  readonly stream: boolean
}

/** Sends a request, in turn of each format, streamed or not. */
async function send(place: number): Promise<Sent> {
  const [path, body] = REQUESTS[Math.floor(place / 2) % REQUESTS.length] ?? assert.fail()
  const stream = place % 2 === 0
  const text = JSON.stringify({ model: MODEL, stream, ...body })
  const reply = await postTo(stack.baseUrl + path, client.apiKey, text)
  return { id: reply.headers.get('x-request-id') ?? '', reply, stream }
}

interface Charged {
  readonly request_id: string
  readonly provider: string
  readonly status: string
  readonly charge_units: number
  readonly prompt_tokens: number
  readonly completion_tokens: number
}

async function chargesOf(ids: readonly string[]): Promise<Map<string, Charged>> {
  await stack.settled()
  const sql = `SELECT request_id, provider, status, charge_units, usage_source,
      input_tokens + cached_input_tokens + cache_write_5m_tokens + cache_write_1h_tokens AS prompt_tokens,
      output_tokens AS completion_tokens
    FROM receipts WHERE request_id = ANY($1)`
  const { rows } = await pool.query<Charged>(sql, [ids])
  return new Map(rows.map((row) => [row.request_id, row]))
}

/** Every text of an answer, as a client reads it, in each format. */
function textsOf({ text }: Reply): string {
  const parts: string[] = []
  const take = (value: unknown, name = ''): void => {
    if (typeof value === 'string') {
      if (['content', 'text', 'delta', 'refusal', 'reasoning_content'].includes(name)) parts.push(value)
    } else if (Array.isArray(value)) for (const one of value) take(one, name)
    else if (typeof value === 'object' && value !== null) for (const [key, one] of Object.entries(value)) take(one, key)
  }
  const events = text.startsWith('{') ? [text] : [...text.matchAll(/^data: (\{.*)$/gm)].map(([, json]) => json ?? '')
  for (const json of events) take(JSON.parse(json))
  return parts.join('')
}

/** Asserts what holds for each request, whatever the endpoint did. */
function check(
  { reply, stream }: { reply: Reply; stream: boolean },
  charged: Charged | undefined,
  shown: string,
): void {
  assert.equal(reply.status, 200, `${shown}: ${reply.text.slice(0, 500)}`)
  assert.ok(!reply.text.includes(EVIL_TEXT), `${shown}: the endpoint's words are shown`)
  assert.ok(charged !== undefined, `${shown}: there is no receipt`)
  // A stream that has begun may break off; nothing else ends otherwise than well.
  if (!stream || charged.provider !== evil) assert.equal(charged.status, 'ok', shown)
  const counted = charged.provider === evil ? mostFor(countTokens(textsOf(reply))) : 3
  const prompt = charged.provider === evil ? mostFor(PROMPT_TOKENS) : PROMPT_TOKENS
  const output = Math.min(counted, MAX_TOKENS)
  const figures = JSON.stringify(charged)
  assert.ok(charged.prompt_tokens <= prompt && charged.completion_tokens <= output, `${shown}: ${figures}, ${output}`)
  const { prompt_tokens: input, completion_tokens: written, charge_units: units } = charged
  assert.ok(units <= input * UNITS_PER_TOKEN.prompt + written * UNITS_PER_TOKEN.output, `${shown}: ${figures}`)
}

/** Plays each trick to some requests of every kind at once, and asserts what holds for all of them. */
async function suffer(tricks: readonly Trick[], atOnce: number, shown: string): Promise<void> {
  const all: (Sent & { readonly shown: string })[] = []
  for (const [number, trick] of tricks.entries()) {
    endpoint.conducts.set('evil', play(trick))
    const places = Array.from({ length: atOnce }, (_, i) => number * atOnce + i)
    const sent = await Promise.all(places.map(send))
    all.push(...sent.map((one, i) => ({ ...one, shown: `${shown} ${JSON.stringify(trick)} in request ${places[i]}` })))
  }
  const charges = await chargesOf(all.map(({ id }) => id))
  for (const one of all) check(one, charges.get(one.id), one.shown)
  const served = [...charges.values()].filter(({ provider }) => provider === evil).length
  assert.ok(served > all.length / 20 && served < all.length, `${shown} it served ${served} of ${all.length}`)
}

/** Asserts that the worker served others all the time, and that it kept its leases and itself. */
async function unharmed(work: () => Promise<unknown>): Promise<void> {
  const watch = new HealthWatch(stack.baseUrl, itemOf(stack.workerPids, 0))
  try {
    await work()
  } finally {
    await watch.stop()
  }
  watch.assertResponsive()
  assert.doesNotMatch(stack.logs(), /orphaned_leases_reclaimed|worker_exited|feed_read_failed/)
  assert.match(await (await fetch(stack.metricsUrl)).text(), /^sluice_worker_restarts_total 0$/m)
}

test('no trick of an endpoint charges more than it delivered, refuses a request or reaches a client', () =>
  unharmed(() => suffer(TRICKS, 2 * REQUESTS.length, '')))

test('nor does any mix of them', () => {
  const seed = newSeed()
  return unharmed(() => suffer(fc.sample(mixes, { seed, numRuns: MIXES }), AT_ONCE, `seed ${seed}:`))
})
