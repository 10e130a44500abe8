// Goal: an owner makes, limits, pauses and revokes keys over HTTP, and what is set holds at the proxies at once. Method: a
// whole stack with two proxy processes, a session, and chat with the keys.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { awayFromTheHour } from '../../support/awayFromTheHour.ts'
import type { Key, List } from '../../support/clients/accountKeys.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { everywhere } from '../../support/clients/everywhere.ts'
import { searchTool } from '../../support/clients/toolClient.ts'
import { type Stack, startStack, untilRead } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

const M = 'test/small'
const WITHIN_MS = 1_000

let stack: Stack
let url: string
let owner: Owner

before(async () => {
  const tools = ['web.search', 'web.scrape'].map((id) => searchTool(id))
  const catalog = { models: [{ id: M }, { id: 'test/other' }], tools }
  stack = await startStack({ workers: 2, catalog, limits: { keysPerAccountMax: 8 } })
  url = stack.baseUrl
  owner = await newOwner(stack)
})

after(() => stack.finish())

const create = (body: Json = {}, by = owner) => apiOk<Key>(url, 'POST', '/v1/account/keys', { token: by.token, body })
const patch = (id: string, body: unknown, token = owner.token) =>
  api<Key>(url, 'PATCH', `/v1/account/keys/${id}`, { token, body })
const revoke = (id: string, token = owner.token) => api(url, 'DELETE', `/v1/account/keys/${id}`, { token })
const ask = (apiKey: string, model = M) => chat(url, apiKey, { model, max_tokens: 1 })

test('a new key has all its settings, shows its secret once, and works immediately', async () => {
  const settings = {
    name: 'app "one"',
    paused: false,
    caps: { hour: '0.5', day: '1', month: null },
    budget: '9007199.254740991',
    models: [M],
    tools: ['web.search'],
    no_logs: true,
    private_tier: false,
    capture_content: true,
    tags: { team: 'red' },
    allow_retention: true,
    can_transfer: false,
    requests_per_minute: 600,
    tokens_per_minute: 500_000,
    parallel: 40,
    platform: true,
    expires_at: '2099-01-01T00:00:00.000Z',
  }
  const made = await create(settings)
  const { object, id, api_key, last4, state, created_at, ...rest } = made
  assert.deepEqual(rest, settings)
  assert.deepEqual([object, state, last4], ['api_key', 'active', api_key.slice(-4)])
  assert.match(api_key, /^sk_[0-9A-Za-z]{43}$/)
  completion(await ask(api_key))
  assertError(await ask(api_key, 'test/other'), 403, 'model_not_allowed')
  const list = await apiOk<List>(url, 'GET', '/v1/account/keys', { token: owner.token })
  assert.deepEqual(list.data[0], { object, id, last4, state, created_at, ...settings })
  assert.ok(!JSON.stringify(list).includes(api_key))
  await revoke(id)
})

test('lists are paginated, newest first, without revoked keys', async () => {
  const by = await newOwner(stack)
  const ids = [...(await apiOk<List>(url, 'GET', '/v1/account/keys', { token: by.token })).data.map(({ id }) => id)]
  for (let i = 0; i < 4; i++) ids.unshift((await create({}, by)).id)
  const [gone] = ids.splice(1, 1)
  await revoke(gone ?? '', by.token)
  const seen: string[] = []
  for (let after = ''; ; ) {
    const query = `?limit=2${after === '' ? '' : `&after=${after}`}`
    const page = await apiOk<List>(url, 'GET', `/v1/account/keys${query}`, { token: by.token })
    assert.equal(page.object, 'list')
    seen.push(...page.data.map(({ id }) => id))
    if (!page.has_more) break
    after = page.data.at(-1)?.id ?? ''
  }
  assert.deepEqual(seen, ids)
  for (const [query, param] of [
    ['limit=0', 'limit'],
    ['limit=101', 'limit'],
    ['limit=x', 'limit'],
    ['after=key_x', 'after'],
    ['limit=1&limit=2', 'limit'],
    ['page=2', 'page'],
  ]) {
    assertRefused(await api(url, 'GET', `/v1/account/keys?${query}`, { token: by.token }), 400, null, param)
  }
})

test('changes apply on every process within a second', async () => {
  const watch = new Stopwatch()
  const key = await create()
  await everywhere(url, new Stopwatch(), key.api_key, 200)
  assert.equal((await patch(key.id, { paused: true })).body['state'], 'paused')
  await everywhere(url, watch, key.api_key, 403, 'key_paused')
  await patch(key.id, { paused: false, models: ['test/other'] })
  await everywhere(url, watch, key.api_key, 403, 'model_not_allowed')
  await patch(key.id, { models: [], caps: { hour: '0.000000001' } })
  await everywhere(url, watch, key.api_key, 402, 'spend_limit_exceeded')
  const { caps } = (await patch(key.id, { caps: { hour: null, day: '2' } })).body
  assert.deepEqual(caps, { hour: null, day: '2', month: null }, 'what is not named stays')
  await patch(key.id, { budget: '0' })
  await everywhere(url, watch, key.api_key, 402, 'key_budget_exceeded')
  await patch(key.id, { budget: null })
  await everywhere(url, watch, key.api_key, 200)
  assert.deepEqual((await revoke(key.id)).body, { object: 'api_key', id: key.id, deleted: true })
  await everywhere(url, watch, key.api_key, 401, 'invalid_api_key')
  watch.assertWithin(WITHIN_MS)
  assert.equal((await revoke(key.id)).status, 200, 'revoking it again changes nothing')
  assertRefused(await patch(key.id, { paused: true }), 404, 'key_not_found')
})

test('invalid settings are rejected with the field and the remedy', async () => {
  const key = await create()
  for (const [body, param, told] of [
    [{ caps: { hour: 1 } }, 'caps.hour', /decimal string of US dollars/],
    [{ caps: { hour: '-1' } }, 'caps.hour', /decimal string/],
    [{ caps: { hour: '0.0000000001' } }, 'caps.hour', /decimal string/],
    [{ caps: { week: '1' } }, 'caps.week', /hour, day, month/],
    [{ budget: '9007199.254740992' }, 'budget', /decimal/],
    [{ models: 'test/small' }, 'models', /array/],
    [{ models: [M, 'test/none'] }, 'models[1]', /test\/none/],
    [{ models: [M, M] }, 'models', /different/],
    [{ tools: ['Web Search'] }, 'tools[0]', /tool ids/],
    [{ tools: ['web.search', 'web.none'] }, 'tools[1]', /a tool id from GET \/v1\/tools, not web\.none/],
    [{ paused: 'yes' }, 'paused', /true or false/],
    [{ name: 'a\u0000b' }, 'name', /text/],
    [{ name: 'half of a pair: \ud83d' }, 'name', /text/],
    [{ name: 'x'.repeat(201) }, 'name', /200/],
    [{ requests_per_minute: 0 }, 'requests_per_minute', /positive integer/],
    [{ requests_per_minute: 1.5 }, 'requests_per_minute', /positive integer/],
    [{ tokens_per_minute: 0 }, 'tokens_per_minute', /positive integer/],
    [{ parallel: '3' }, 'parallel', /positive integer/],
    [{ capture_content: 1 }, 'capture_content', /true or false/],
    [{ capture_content: true, private_tier: true }, 'capture_content', /private_tier/],
    [{ expires_at: 'tomorrow' }, 'expires_at', /2027-01-31T12:00:00Z/],
    [{ expires_at: '2020-01-01T00:00:00Z' }, 'expires_at', /time to come/],
    [{ cap_hour: '1' }, 'cap_hour', /caps/],
    [{ __proto__: 1, ['__proto__x']: 1 }, '__proto__x', /no field/],
  ] as const) {
    for (const answer of [
      await api(url, 'POST', '/v1/account/keys', { token: owner.token, body }),
      await patch(key.id, body),
    ]) {
      assertRefused(answer, 400, null, param)
      assert.match(answer.text, told)
    }
  }
  assertRefused(await patch(key.id, {}), 400, null)
  const queried = await api(url, 'GET', '/v1/account?limit=1', { token: owner.token })
  assertRefused(queried, 400, null, 'limit')
  assert.match(queried.text, /this takes none/)
  assertRefused(await patch(key.id, '[]'), 400, null)
  assertRefused(await patch(key.id, '{"paused":true'), 400, 'body_incomplete')
  assertRefused(await patch(key.id, ''), 400, null)
  assertRefused(await patch(key.id, `{"name":${'['.repeat(300)}${']'.repeat(300)}}`), 400, null)
  assertRefused(await patch(key.id, 'name=x'), 400, 'unsupported_media_type')
  // A mark that some shells put before a text is none of it.
  assert.equal((await patch(key.id, '\ufeff{"name":"marked"}')).status, 200)
  await revoke(key.id)
})

test('a key of another account and unknown ids are rejected', async () => {
  const key = await create()
  const stranger = await newOwner(stack)
  for (const answer of [
    await patch(key.id, { paused: true }, stranger.token),
    await revoke(key.id, stranger.token),
    await api(url, 'GET', `/v1/keys/${key.id}/limits`, { token: stranger.token }),
  ]) {
    assertRefused(answer, 403, 'permission_denied')
  }
  for (const id of ['key_0123456789ABCDEFGHJKMNPQRS', 'nonsense', '%00', "'"]) {
    assertRefused(await patch(id, { paused: true }), 404, 'key_not_found')
    assertRefused(await api(url, 'GET', `/v1/keys/${id}/limits`, { token: owner.token }), 404, 'key_not_found')
  }
  completion(await ask(key.api_key))
  await revoke(key.id)
})

test('the limits of a key show the used and remaining amounts that admission applies', async () => {
  await awayFromTheHour()
  const key = await create({ caps: { hour: '1', day: '0.000001' }, budget: '2' })
  assertError(await ask(key.api_key), 402, 'spend_limit_exceeded')
  await patch(key.id, { caps: { day: null } })
  const again = () => ask(key.api_key)
  const used = completion(await untilRead('the cap is gone', again, ({ status }) => status === 200)).receipt.cost.usd
  await stack.settled()
  type Shown = { caps: Record<string, Json>; budget: Json } & Json
  const limits = await apiOk<Shown>(url, 'GET', `/v1/keys/${key.id}/limits`, { token: owner.token })
  const { cap, used: hourUsed, left, resets_at } = limits.caps['hour'] ?? {}
  assert.deepEqual([cap, hourUsed], ['1', used])
  assert.equal(Math.round((1 - Number(used)) * 1e9), Math.round(Number(left) * 1e9))
  assert.ok(Date.parse(String(resets_at)) > Date.now())
  assert.deepEqual([limits.caps['day']?.['cap'], limits.caps['day']?.['left']], [null, null])
  assert.deepEqual([limits.budget['cap'], limits.budget['used']], ['2', used])
  assert.deepEqual([limits['object'], limits['id']], ['key_limits', key.id])
  const { json } = await stack.cli('key', 'limits', key.id)
  assert.deepEqual((json as typeof limits).caps['month'], limits.caps['month'])
  await revoke(key.id)
})

test('the owner sees settings that the operator made on a key', async () => {
  const key = await create({ tools: ['web.scrape'] })
  const seen = async () => {
    const { data } = await apiOk<List>(url, 'GET', '/v1/account/keys?limit=1', { token: owner.token })
    return [data[0]?.['tools'], data[0]?.['budget'], data[0]?.['state']]
  }
  const set = (...flags: string[]) => stack.cli('key', 'update', key.id, ...flags)
  assert.equal((await set('--tool', 'web.search', '--tool', 'web.scrape', '--budget', '3')).code, 0)
  assert.deepEqual(await seen(), [['web.search', 'web.scrape'], '3', 'active'])
  assert.equal((await set('--tool', 'any', '--budget', 'none')).code, 0)
  assert.deepEqual(await seen(), [[], null, 'active'])
  assert.match((await set('--tool', 'web.none')).stderr, /no tool "web.none"; tools: web.search, web.scrape/)
  await revoke(key.id)
})

test('an Idempotency-Key creates a key once, also under concurrency, and shows its secret once', async () => {
  const by = await newOwner(stack)
  const make = (key: string, body: Json = { name: 'once' }, by_ = by) =>
    api<Key>(url, 'POST', '/v1/account/keys', { token: by_.token, body, headers: { 'idempotency-key': key } })
  const answers = await Promise.all(Array.from({ length: 24 }, () => make('first')))
  assert.deepEqual(new Set(answers.map((answer) => answer.status)), new Set([201]))
  assert.equal(new Set(answers.map((answer) => answer.body.id)).size, 1)
  const [original, ...more] = answers.filter((answer) => answer.body.api_key !== null)
  assert.equal(more.length, 0)
  completion(await ask(original?.body.api_key ?? ''))
  const repeats = answers.filter((answer) => answer.headers.get('idempotent-replayed') === 'true')
  assert.equal(repeats.length, 23)
  assertRefused(await make('first', { name: 'other' }), 409, 'idempotency_conflict', 'Idempotency-Key')
  const stranger = await newOwner(stack)
  assert.notEqual((await make('first', { name: 'once' }, stranger)).body.id, original?.body.id)
  assertRefused(await make('second', { name: 1 } as unknown as Json), 400, null, 'name')
  assert.equal((await make('second')).status, 201, 'what was refused did not take the key')
  assertRefused(await make('with space'), 400, null, 'Idempotency-Key')
  assertRefused(await make('x'.repeat(256)), 400, null, 'Idempotency-Key')
})

test('an account has a bounded number of keys, also when created concurrently', async () => {
  const by = await newOwner(stack)
  const answers = await Promise.all(
    Array.from({ length: 12 }, () => api(url, 'POST', '/v1/account/keys', { token: by.token, body: {} })),
  )
  assert.equal(answers.filter((answer) => answer.status === 201).length, 7)
  for (const answer of answers) if (answer.status !== 201) assertRefused(answer, 400, null)
})

test('an Idempotency-Key is scoped to the account for every credential, and bodies are compared by meaning', async () => {
  const by = await newOwner(stack)
  const send = (token: string, body: string) =>
    api(url, 'POST', '/v1/agents', { token, body, headers: { 'idempotency-key': 'shared' } })
  const first = await send(by.token, '{"slug":"shared-key","name":"für A","caps":{"hour":"1","day":null}}')
  assert.equal(first.status, 201, first.text)
  const again = await send(
    by.apiKey,
    '{ "caps": {"day": null, "hour": "1"},\n "name": "f\\u00fcr A", "slug": "shared-key" }',
  )
  assert.deepEqual([again.status, again.headers.get('idempotent-replayed')], [201, 'true'])
  assert.deepEqual(again.text, first.text)
  const other = '{"slug":"shared-key","name":"für A","caps":{"hour":"1.0","day":null}}'
  assertRefused(await send(by.apiKey, other), 409, 'idempotency_conflict', 'Idempotency-Key')
  // A key that may not make agents is told neither that one was made nor how.
  const bound = await create({ budget: '1' }, by)
  for (const body of [other, '{"slug":"shared-key","name":"für A","caps":{"hour":"1","day":null}}']) {
    assertRefused(await send(bound.api_key, body), 403, 'permission_denied')
  }
})

test('the retention setting of keys and of the account is true, false or undecided', async () => {
  const { token } = owner
  const read = async () => (await apiOk(url, 'GET', '/v1/account', { token }))['allow_retention']
  const { id, ...made } = await create({})
  assert.deepEqual([await read(), made['allow_retention']], [null, null])
  const changed = await apiOk(url, 'PATCH', '/v1/account', { token, body: { name: 'Customer', allow_retention: true } })
  assert.deepEqual([changed['name'], changed['allow_retention']], ['Customer', true])
  assertRefused(await api(url, 'PATCH', '/v1/account', { token, body: {} }), 400, null)
  assertRefused(await api(url, 'PATCH', '/v1/account', { token, body: { balance: '1' } }), 400, null)
  for (const [flag, shown] of [
    ['--refuse-retention', false],
    ['--inherit-retention', null],
  ] as const) {
    const cli = await stack.cli('account', 'update', owner.accountId, flag)
    assert.equal(cli.code, 0, cli.stderr)
    assert.equal(await read(), shown)
  }
  for (const state of [false, true, null]) {
    const patched = await apiOk(url, 'PATCH', `/v1/account/keys/${id}`, { token, body: { allow_retention: state } })
    assert.equal(patched['allow_retention'], state)
  }
})
