// Goal: every kind of refusal is explained to the owner and to the operator with the check that refused it and its figures, and
// nobody else reads it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { formatUsd, parseUsd } from '../../../contract/money/units.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { chat, completion, type Reply } from '../../support/clients/chatClient.ts'
import { KeyedProvider } from '../../support/providers/keyedProvider.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const M = 'test/plain'
const TINY = '0.000001'

interface Check {
  readonly check: string
  readonly result: string
  readonly subject: string | null
  readonly unit: string | null
  readonly limit: string | null
  readonly used: string | null
  readonly available: string | null
  readonly needed: string | null
}

interface Explained extends Json {
  readonly status: string
  readonly model: string | null
  readonly refused_by: string | null
  readonly error: { code: string; status: number } | null
  readonly hold: { usd: string; least_usd: string; tokens: number; price_sheet: string } | null
  readonly checks: readonly Check[]
  readonly receipt: Json | null
}

let stack: Stack
let provider: KeyedProvider
let owner: Owner
let stranger: Owner

before(async () => {
  provider = await KeyedProvider.start()
  provider.allow('secret')
  const routes = [{ provider: 'acme', model: 'x' }]
  stack = await startStack({
    env: { ACME_KEY: 'secret' },
    limits: { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, refusalRecordsGatherMs: 5, breakerFailures: 1 },
    catalog: {
      providers: [{ id: 'acme', base_url: provider.url, api_key_env: 'ACME_KEY' }, { id: 'mock' }],
      models: [
        { id: M, routes },
        { id: 'test/other', routes },
        { id: 'test/limited', routes, limits: { requests_per_minute: 1 } },
        { id: 'test/down', routes: [{ provider: 'mock', model: 'mock,error=500' }] },
      ],
    },
  })
  owner = await newOwner(stack)
  stranger = await newOwner(stack)
})
after(async () => {
  await provider.stop()
  await stack.finish()
})

const newKey = async (body: Json, by = owner) => {
  const key = await apiOk<Json>(stack.baseUrl, 'POST', '/v1/account/keys', { token: by.token, body })
  return { id: String(key['id']), secret: String(key['api_key']) }
}
const ask = (secret: string, more: object = {}): Promise<Reply> =>
  chat(stack.baseUrl, secret, { model: M, max_tokens: 10, ...more })
const idOf = ({ headers }: { readonly headers: Headers }): string => headers.get('x-request-id') ?? assert.fail('no id')
const read = (id: string, token: string) =>
  api<Explained>(stack.baseUrl, 'GET', `/v1/account/requests/${id}`, { token })

/** The explanation of a request, once it is kept. */
async function explained(id: string, token = owner.token): Promise<Explained> {
  await until(`${id} is explained`, async () => (await read(id, token)).status === 200)
  return (await read(id, token)).body
}

const checkOf = ({ checks }: Explained, name: string): Check =>
  checks.find(({ check }) => check === name) ?? assert.fail(`no check ${name} in ${JSON.stringify(checks)}`)

/** The refused check of a reply that was refused with this status and code. */
async function refusedCheck(reply: Reply, status: number, code: string, token = owner.token) {
  assert.equal(reply.status, status, reply.text)
  const found = await explained(idOf(reply), token)
  assert.deepEqual([found.status, found.error?.status, found.error?.code], ['refused', status, code])
  const refused = found.checks.filter(({ result }) => result === 'refused')
  assert.equal(found.refused_by, refused[0]?.check)
  const at = found.checks.findIndex(({ result }) => result === 'refused')
  assert.ok(found.checks.slice(0, at).every(({ result }) => result === 'passed'))
  assert.ok(found.checks.slice(at).every(({ result }) => result !== 'passed'))
  return { found, check: refused[0] ?? assert.fail('no check refused it') }
}

/** The least that had to be held, as the client was told. */
const toldUsd = ({ text }: Reply): string => /the ([\d.]+) USD/.exec(text)?.[1] ?? assert.fail(text)

test('a balance that is too small is told with what is there and what was needed', async () => {
  const poor = await newOwner(stack, { credits: '0.00000001' })
  const reply = await ask(poor.apiKey)
  const { found, check } = await refusedCheck(reply, 402, 'insufficient_balance', poor.token)
  const { result: _, ...figures } = check
  assert.deepEqual(figures, {
    check: 'balance',
    subject: 'coin and credits',
    unit: 'usd',
    limit: null,
    used: null,
    available: '0.00000001',
    needed: toldUsd(reply),
  })
  assert.deepEqual([found.model, found['endpoint'], found['route']], [M, 'chat', '/v1/chat/completions'])
  const { hold } = found
  assert.ok(hold !== null && hold.tokens > 10 && Number(hold.usd) >= Number(hold.least_usd), JSON.stringify(hold))
  assert.match(hold.price_sheet, /^\d+$/)
  assert.deepEqual([checkOf(found, 'key').subject, checkOf(found, 'allowed_models').limit], ['in force', null])
})

for (const [span, settings, code] of [
  ['hour', { caps: { hour: TINY } }, 'spend_limit_exceeded'],
  ['day', { caps: { day: TINY } }, 'spend_limit_exceeded'],
  ['month', { caps: { month: TINY } }, 'spend_limit_exceeded'],
  ['life', { budget: TINY }, 'key_budget_exceeded'],
] as const) {
  test(`a cap of a key is told with its figures: ${span}`, async () => {
    const key = await newKey(settings)
    const reply = await ask(key.secret)
    const { found, check } = await refusedCheck(reply, 402, code)
    const { result: _, ...figures } = check
    assert.deepEqual(figures, {
      check: `cap_${span}`,
      subject: 'the key',
      unit: 'usd',
      limit: TINY,
      used: '0',
      available: TINY,
      needed: toldUsd(reply),
    })
    assert.equal(found['key_id'], key.id)
    assert.equal(checkOf(found, 'balance').available, '10')
    // The key itself reads its own requests, another key of the account does not.
    assert.equal((await read(idOf(reply), key.secret)).status, 200)
    assertRefused(await read(idOf(reply), owner.apiKey), 404, 'request_not_found')
  })
}

test('what was spent of a cap before counts, and the cap of a platform key is told as such', async () => {
  const platform = await newKey({ platform: true, caps: { day: '0.0005' } })
  const sub = await apiOk<Json>(stack.baseUrl, 'POST', '/v1/platform/keys', { token: platform.secret, body: {} })
  const secret = String(sub['api_key'])
  const served = completion(await ask(secret))
  await stack.settled()
  const { check } = await refusedCheck(await ask(secret, { max_tokens: 1_000 }), 402, 'spend_limit_exceeded')
  const { limit, used, available, subject } = check
  assert.deepEqual([check.check, limit, subject], ['platform_cap_day', '0.0005', 'the platform key'])
  // What this process has leased meanwhile counts as well.
  const usedUnits = parseUsd(used ?? '') ?? assert.fail(`${used}`)
  assert.ok(usedUnits >= Number(served.receipt.cost.units))
  assert.equal(available, formatUsd(500_000 - usedUnits))
})

test('rates and limits are told with what was used of them', async () => {
  const rated = await newKey({ requests_per_minute: 1 })
  completion(await ask(rated.secret))
  const rate = await refusedCheck(await ask(rated.secret), 429, 'rate_limited')
  assert.deepEqual([rate.check.check, rate.check.limit, rate.check.available], ['rate', '1', '0'])

  const tokens = await newKey({ tokens_per_minute: 15 })
  const large = await refusedCheck(await ask(tokens.secret, { max_tokens: 100 }), 400, 'invalid_request')
  assert.deepEqual(
    [large.check.check, large.check.subject, large.check.limit, large.check.needed],
    ['tokens_per_minute', 'The key', '15', String(large.found.hold?.tokens)],
  )
  assert.ok(Number(large.check.needed) > 100)

  const flight = await newKey({ parallel: 1 })
  provider.holds = true
  const open = ask(flight.secret)
  await until('it is at the provider', async () => provider.waiting === 1)
  const parallel = await refusedCheck(await ask(flight.secret), 429, 'rate_limited')
  assert.deepEqual(
    [parallel.check.check, parallel.check.limit, parallel.check.used, parallel.check.available],
    ['requests_in_flight', '1', '1', '0'],
  )
  provider.release()
  completion(await open)

  const by = await newOwner(stack)
  completion(await ask(by.apiKey, { model: 'test/limited' }))
  const minute = await refusedCheck(await ask(by.apiKey, { model: 'test/limited' }), 429, 'rate_limited', by.token)
  assert.deepEqual(
    [minute.check.check, minute.check.subject, minute.check.limit, minute.check.used],
    ['requests_per_minute', 'The account on this model', '1', '1'],
  )
})

test('models, prices and routes that refuse are told', async () => {
  const listed = await newKey({ models: ['test/other'] })
  const model = await refusedCheck(await ask(listed.secret), 403, 'model_not_allowed')
  assert.deepEqual([model.check.check, model.check.subject, model.check.limit], ['allowed_models', M, '1'])
  const unknown = await refusedCheck(await ask(owner.apiKey, { model: 'test/unheard' }), 404, 'model_not_found')
  // Nothing that a client has typed is kept.
  assert.deepEqual([unknown.check.check, unknown.check.subject], ['allowed_models', null])
  assert.ok(!JSON.stringify(unknown.found).includes('unheard'))

  const dear = await ask(owner.apiKey, { provider: { max_price: { prompt: 0.5, completion: 9 } } })
  const price = await refusedCheck(dear, 404, 'no_route_for_policy')
  assert.deepEqual([price.check.check, price.check.limit, price.check.needed], ['max_price_prompt', '0.5', '1'])
  const { result, limit, needed } = checkOf(price.found, 'max_price_completion')
  assert.deepEqual([result, limit, needed], ['not_reached', '9', '2'])

  let reply = await ask(owner.apiKey, { model: 'test/down' })
  await until('the only route is out', async () => {
    reply = await ask(owner.apiKey, { model: 'test/down' })
    return reply.status === 503
  })
  const down = await refusedCheck(reply, 503, 'model_unavailable')
  assert.deepEqual(
    [down.check.check, down.check.subject, down.check.available, down.check.needed],
    ['routes', '1 enabled, 1 allowed for this request, 0 can be asked', '0', '1'],
  )
  const malformed = await refusedCheck(await ask(owner.apiKey, { messages: 'none' }), 400, 'invalid_request')
  assert.deepEqual([malformed.check.check, malformed.check.subject], ['request', 'invalid_request'])
})

test('paused and revoked keys are told to the owner, unknown ones to the operator alone', async () => {
  const key = await newKey({})
  completion(await ask(key.secret))
  const path = `/v1/account/keys/${key.id}`
  await apiOk(stack.baseUrl, 'PATCH', path, { token: owner.token, body: { paused: true } })
  await until('it is paused', async () => (await ask(key.secret)).status === 403)
  const paused = await refusedCheck(await ask(key.secret), 403, 'key_paused')
  assert.deepEqual([paused.check.check, paused.check.subject], ['key', 'paused'])
  await apiOk(stack.baseUrl, 'DELETE', path, { token: owner.token })
  await until('it is revoked', async () => (await ask(key.secret)).status === 401)
  const revoked = await refusedCheck(await ask(key.secret), 401, 'invalid_api_key')
  assert.deepEqual([revoked.check.check, revoked.check.subject, revoked.found['key_id']], ['key', 'revoked', key.id])

  const guess = idOf(await ask(`sk_${'a'.repeat(43)}`))
  await until('it is kept', async () => (await stack.cli('explain', guess)).code === 0)
  const { json } = await stack.cli('explain', guess)
  assert.equal(checkOf(json as Explained, 'key').subject, 'unknown')
  assertRefused(await read(guess, owner.token), 404, 'request_not_found')
})

test('a request that ran is shown with its receipt, and ids of others are unknown', async () => {
  const { receipt } = completion(await ask(owner.apiKey))
  await stack.settled()
  const id = receipt.request_id
  for (const token of [owner.token, owner.apiKey]) {
    const found = await explained(id, token)
    assert.deepEqual([found.status, found.refused_by, found.checks], ['ok', null, []])
    assert.deepEqual(
      ['request_id', 'cost', 'hold'].map((name) => found.receipt?.[name]),
      [id, receipt.cost, receipt.hold],
    )
  }
  const failed = await ask(owner.apiKey, { model: M, max_tokens: 10, provider: { max_price: { prompt: 0 } } })
  await explained(idOf(failed))
  for (const one of [id, idOf(failed), newId('req'), 'req_1', 'nothing']) {
    assertRefused(await read(one, stranger.token), 404, 'request_not_found')
    assertRefused(await read(one, stranger.apiKey), 404, 'request_not_found')
  }
})

test("the operator's command shows the figures of any account", async () => {
  const poor = await newOwner(stack, { credits: '0.00000001' })
  const reply = await ask(poor.apiKey)
  await explained(idOf(reply), poor.token)
  const { stdout, code } = await stack.command(['explain', idOf(reply)])
  assert.equal(code, 0)
  assert.match(stdout, /refused by: +balance\n/)
  assert.match(stdout, new RegExp(`account: +${poor.accountId}\n`))
  assert.match(stdout, new RegExp(`balance +refused .*0\\.00000001 +${toldUsd(reply).replace('.', '\\.')} +usd`))
  const unknown = await stack.command(['explain', newId('req')])
  assert.equal(unknown.code, 1)
  assert.match(unknown.stderr, /Nothing is kept of a request/)
})

test('the book is right after all of this', () => stack.audit())
