// Which provider serves a request: what it asks for, within what its key lets it. Every upstream model's name says
// whose route it is, so that the provider's log shows who served.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { createPool } from '../../../control/runtime/db/pool.ts'
import { assertError, chat, type Reply } from '../../support/clients/chatClient.ts'
import { generate, newVideo, providerVideos, videoIn, videoModel } from '../../support/clients/videoClient.ts'
import { limits } from '../../support/limits.ts'
import { itemOf } from '../../support/present.ts'
import { type Stack, startStack, type TestAccount, until } from '../../support/stack.ts'

const KEEPS = { provider: 'keeps', model: 'mock,text=keeps' }
const FORGETS = { provider: 'forgets', model: 'mock,text=forgets' }
const COSTS = [
  { provider: 'forgets', model: 'mock,text=unstated' },
  { provider: 'forgets', model: 'mock,text=dear', cost: { input: '2', output: '2' } },
  { provider: 'keeps', model: 'mock,text=cheap', cost: { input: '0.5', output: '2' } },
  { provider: 'forgets', model: 'mock,text=middle', cost: { input: '1', output: '1' } },
]
/** Seconds that the provider of a model asks to be left alone. */
const WAITS = [39, 35, 50, 38]

let stack: Stack
let account: TestAccount
let undecided: string
let noLogs: string
let privateTier: string

before(async () => {
  stack = await startStack({
    limits: { videoPollMinMs: 50, breakerFailures: 1_000_000 },
    catalog: {
      providers: [
        { id: 'keeps', data_policy: 'retained' },
        { id: 'forgets', data_policy: 'none', attested: true },
      ],
      models: [
        { id: 'test/both', routes: [KEEPS, FORGETS], attested: true, price_private: { input: '3', output: '4' } },
        { id: 'test/keeps', routes: [KEEPS] },
        { id: 'test/public', routes: [FORGETS] },
        { id: 'test/costs', routes: COSTS },
        {
          id: 'test/limited',
          routes: [{ ...KEEPS, model: 'mock,error=429,retry_after=60' }],
          fallbacks: [{ model: 'test/public', on: ['rate_limited'] }],
        },
        ...WAITS.map((seconds) => ({
          id: `test/wait-${seconds}`,
          routes: [{ ...FORGETS, model: `mock,error=429,retry_after=${seconds}` }],
        })),
        {
          id: 'test/fails',
          routes: [{ ...itemOf(COSTS, 2), model: 'mock,error=500,text=cheap' }, ...COSTS.slice(0, 2)],
        },
        { id: 'test/attested', routes: [FORGETS], attested: true, endpoints: ['chat', 'completions'] },
        videoModel('test/clip', '', {
          routes: [
            { provider: 'keeps', model: 'mock,text=first' },
            { provider: 'forgets', model: 'mock,text=second', cost: { second: '0.01' } },
          ],
        }),
        videoModel('test/kept-clip', '', { routes: [{ provider: 'keeps', model: 'mock' }] }),
      ],
    },
  })
  account = await stack.createAccount({ args: ['--allow-retention'] })
  const keyOf = async (...flags: string[]) => {
    const { json } = await stack.cli('key', 'create', account.accountId, ...flags)
    return (json as { api_key: string }).api_key
  }
  undecided = await keyOf()
  noLogs = await keyOf('--no-logs')
  privateTier = await keyOf('--private-tier')
  await until('the hardware is verified', async () => (await ask('test/both', privateTier)).status === 200)
})

after(() => stack.finish())

/** The upstream model that served a reply, by the provider's log. */
async function routeOf(reply: Reply): Promise<string> {
  assert.equal(reply.status, 200, reply.text)
  const id = reply.headers.get('x-request-id')
  const line = (await stack.provider.log()).find((entry) => entry.request_id === id && entry.outcome === 'complete')
  assert.ok(line !== undefined, `the provider did not serve ${id}`)
  return line.model.replace(/^mock,text=/, '')
}

const ask = (model: string, apiKey: string, provider?: unknown) =>
  chat(stack.baseUrl, apiKey, { model, max_tokens: 1, ...(provider !== undefined && { provider }) })

for (const { what, key, provider, route } of [
  { what: 'a request without an opt-in', key: () => undecided, provider: undefined, route: 'forgets' },
  { what: 'a key that is opted in', key: () => account.apiKey, provider: undefined, route: 'keeps' },
  { what: 'allow_retention true', key: () => undecided, provider: { allow_retention: true }, route: 'keeps' },
  { what: 'allow_retention false', key: () => account.apiKey, provider: { allow_retention: false }, route: 'forgets' },
  { what: 'a key in no-logs mode', key: () => noLogs, provider: undefined, route: 'forgets' },
  {
    what: 'a no-logs key that asks for less',
    key: () => noLogs,
    provider: { allow_retention: true },
    route: 'forgets',
  },
  { what: 'a key on the private tier', key: () => privateTier, provider: undefined, route: 'forgets' },
  {
    what: 'a private key that asks for less',
    key: () => privateTier,
    provider: { allow_retention: true },
    route: 'forgets',
  },
]) {
  test(`retention: ${what} is served by the provider that ${route}`, async () => {
    assert.equal(await routeOf(await ask('test/both', key(), provider)), route)
  })
}

test('retention: the policy comes from the request, else from its key, else from its account', async () => {
  const { accountId, apiKey } = await stack.createAccount()
  const keyWith = async (flag: string) => {
    const { json } = await stack.cli('key', 'create', accountId, flag)
    return (json as { api_key: string }).api_key
  }
  const [allowing, refusing] = [await keyWith('--allow-retention'), await keyWith('--refuse-retention')]
  const servers = async (expected: readonly [string, string, string]) => {
    for (const [place, key] of [apiKey, allowing, refusing].entries()) {
      // Proxies hear of a change within a second.
      await until(
        `${expected[place]} serves`,
        async () => (await routeOf(await ask('test/both', key))) === expected[place],
      )
    }
  }
  await servers(['forgets', 'keeps', 'forgets'])
  assertError(await ask('test/keeps', apiKey), 404, 'no_route_for_policy')
  assertError(await generate(stack.baseUrl, apiKey, { model: 'test/kept-clip' }), 404, 'no_route_for_policy')
  await stack.cli('account', 'update', accountId, '--allow-retention')
  await servers(['keeps', 'keeps', 'forgets'])
  await stack.cli('account', 'update', accountId, '--refuse-retention')
  await servers(['forgets', 'keeps', 'forgets'])
  for (const key of [apiKey, allowing, refusing]) {
    assert.equal(await routeOf(await ask('test/both', key, { allow_retention: true })), 'keeps')
    assert.equal(await routeOf(await ask('test/both', key, { allow_retention: false })), 'forgets')
  }
})

test('retention: while the account policy is unavailable, no request runs', async () => {
  const { apiKey } = await stack.createAccount()
  const pool = createPool(stack.databaseUrl, limits, () => undefined)
  await pool.query('ALTER TABLE account_settings RENAME TO settings_away')
  for (const reply of [
    await ask('test/both', apiKey),
    await ask('test/both', apiKey, { allow_retention: false }),
    await generate(stack.baseUrl, apiKey, { model: 'test/clip' }),
  ]) {
    assertError(reply, 503, 'settings_unavailable')
    assert.ok(Number(reply.headers.get('retry-after')) >= 1)
  }
  await pool.query('ALTER TABLE settings_away RENAME TO account_settings')
  await pool.end()
  assert.equal(await routeOf(await ask('test/both', apiKey)), 'forgets')
})

test('if no route meets the policy, no request runs and no hold is taken', async () => {
  const before = (await stack.provider.log()).length
  for (const reply of [
    await ask('test/keeps', account.apiKey, { allow_retention: false }),
    await ask('test/keeps', noLogs),
    await ask('test/keeps', noLogs, { allow_retention: true }),
    // Without a private price a model is not on the private tier.
    await ask('test/public', privateTier),
    await ask('test/attested', privateTier),
    await ask('test/both', account.apiKey, { max_price: { prompt: 0.5 } }),
    await ask('test/both', account.apiKey, { max_price: { completion: '1.999999999' } }),
    // On the private tier its own prices count.
    await ask('test/both', privateTier, { max_price: { prompt: 2 } }),
    await generate(stack.baseUrl, account.apiKey, { model: 'test/kept-clip', provider: { allow_retention: false } }),
    await generate(stack.baseUrl, noLogs, { model: 'test/kept-clip' }),
    await generate(stack.baseUrl, privateTier, { model: 'test/clip' }),
  ]) {
    assertError(reply, 404, 'no_route_for_policy')
  }
  assert.equal((await stack.provider.log()).length, before)
  await stack.settled()
})

test('max_price admits a route at exactly that price', async () => {
  assert.equal(
    await routeOf(await ask('test/both', account.apiKey, { max_price: { prompt: 1, completion: 2 } })),
    'keeps',
  )
  assert.equal(await routeOf(await ask('test/both', privateTier, { max_price: { prompt: '3' } })), 'forgets')
})

test(':cheapest calls the cheapest of the eligible routes', async () => {
  assert.equal(await routeOf(await ask('test/costs', account.apiKey)), 'unstated')
  assert.equal(await routeOf(await ask('test/costs:cheapest', account.apiKey)), 'cheap')
  assert.equal(await routeOf(await ask('test/costs:cheapest', noLogs)), 'middle')
  assert.equal(await routeOf(await ask('test/costs:cheapest', account.apiKey, { allow_retention: false })), 'middle')
  // One that fails leaves the request to the next dearer one.
  assert.equal(await routeOf(await ask('test/fails:cheapest', account.apiKey)), 'dear')
})

test('routing is the same for videos', async () => {
  for (const [body, route] of [
    [{ model: 'test/clip' }, 'mock,text=first'],
    [{ model: 'test/clip:cheapest' }, 'mock,text=second'],
    [{ model: 'test/clip', provider: { allow_retention: false } }, 'mock,text=second'],
  ] as const) {
    const job = await newVideo(stack.baseUrl, account.apiKey, body)
    await videoIn(stack.baseUrl, account.apiKey, job.id, ['completed'])
    const made = (await providerVideos(stack)).find((entry) => entry.request_id === job.request_id)
    assert.equal(made?.model, route)
  }
})

test('a model on attested hardware serves chat', async () => {
  assert.equal(await routeOf(await ask('test/attested', account.apiKey)), 'forgets')
})

test('a fallback for a limited rate serves also while the provider is left alone', async () => {
  for (const _ of [1, 2]) assert.equal(await routeOf(await ask('test/limited', account.apiKey)), 'forgets')
})

test('where no model is left, the client waits for the one that can be asked first', async () => {
  const ask = (models: readonly string[], key = account.apiKey) =>
    chat(stack.baseUrl, key, { model: itemOf(models, 0), models: models.slice(1) })
  const waitOf = (reply: Reply): number => Number(reply.headers.get('retry-after'))
  const asked = await ask(['test/wait-39', 'test/wait-35', 'test/wait-50'])
  assertError(asked, 429, 'rate_limited')
  assert.equal(waitOf(asked), 35)
  // Two are left out by now, and the one that is asked wants a longer time.
  const left = await ask(['test/wait-39', 'test/wait-38', 'test/wait-50'])
  assertError(left, 429, 'rate_limited')
  assert.ok(waitOf(left) <= 38)
  const none = await ask(['test/wait-50', 'test/wait-39', 'test/wait-38'])
  assertError(none, 429, 'rate_limited')
  assert.ok(waitOf(none) <= 39)
  // A model that the key may not use does not hide the wait for another one.
  const { json } = await stack.cli('key', 'create', account.accountId, '--model', 'test/wait-50')
  const bound = await ask(['test/public', 'test/wait-50'], (json as { api_key: string }).api_key)
  assertError(bound, 429, 'rate_limited')
  assert.ok(waitOf(bound) >= 1)
})
