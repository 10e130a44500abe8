// Goal: a platform makes keys for its users within its own bounds, sees what they use, and ends them; nobody else does.
// Method: a whole stack with two proxy processes; a platform key over HTTP, chat with its sub-keys; then the audit.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion, type Reply } from '../../support/clients/chatClient.ts'
import { assertToolError, callMcp, connectMcp } from '../../support/clients/mcpClient.ts'
import { callTool, searchTool } from '../../support/clients/toolClient.ts'
import { present } from '../../support/present.ts'
import { type Stack, startStack, until, untilRead } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

const M = 'test/small'

let stack: Stack
let url: string
let owner: Owner

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000 }
  const catalog = {
    models: [{ id: M }, { id: 'test/other' }],
    tools: [searchTool('web.search'), searchTool('web.other')],
  }
  stack = await startStack({ workers: 2, catalog, limits: { ...rates, subKeysPerPlatformMax: 6 } })
  url = stack.baseUrl
  owner = await newOwner(stack)
})
after(() => stack.finish())

interface Key extends Json {
  readonly id: string
  readonly api_key: string
  readonly state: string
}

const platformKey = (more: Json = {}, by = owner) =>
  apiOk<Key>(url, 'POST', '/v1/account/keys', { token: by.token, body: { platform: true, ...more } })
const make = (token: string, body: Json = {}) => api<Key>(url, 'POST', '/v1/platform/keys', { token, body })
const list = (token: string, query = '') =>
  apiOk<{ object: string; data: Key[]; has_more: boolean }>(url, 'GET', `/v1/platform/keys${query}`, { token })
const revoke = (token: string, id: string) => api<Key>(url, 'POST', `/v1/platform/keys/${id}/revoke`, { token })
const ask = (apiKey: string, model = M) => chat(url, apiKey, { model, max_tokens: 1 })

test('a platform key creates sub-keys that work immediately, are listed, and can be revoked', async () => {
  const platform = await platformKey()
  const made = await make(platform.api_key, { user: 'user-1', name: 'for user 1', caps: { day: '1' } })
  assert.equal(made.status, 201, made.text)
  const { api_key: secret, ...shown } = made.body
  assert.match(secret, /^sk_[0-9A-Za-z]{43}$/)
  assert.deepEqual(
    [shown['object'], shown['user'], shown.state, shown['platform']],
    ['platform_key', 'user-1', 'active', undefined],
  )
  completion(await ask(secret))
  const second = (await make(platform.api_key, { user: 'user-2' })).body
  const all = await list(platform.api_key)
  assert.deepEqual([all.object, all.has_more, ...all.data.map(({ id }) => id)], ['list', false, second.id, shown.id])
  assert.deepEqual((await list(platform.api_key, '?user=user-1')).data, [shown])
  assert.equal((await list(platform.api_key, `?limit=1&after=${second.id}`)).data[0]?.id, shown.id)
  const ended = await revoke(platform.api_key, shown.id)
  assert.deepEqual([ended.status, ended.body.state], [200, 'revoked'])
  assert.equal((await revoke(platform.api_key, shown.id)).status, 200)
  await until('every process refuses it', async () => {
    const replies = await Promise.all(Array.from({ length: 6 }, () => ask(secret)))
    return replies.every(({ status }) => status === 401)
  })
  completion(await ask(second.api_key))
  const own = await apiOk<{ data: Key[] }>(url, 'GET', '/v1/account/keys', { token: owner.token })
  assert.ok(
    own.data.every(({ id }) => id !== second.id),
    'sub-keys are not among the keys of the account',
  )
})

test('the settings of a sub-key are bounded by its platform key, at creation and later', async () => {
  const bounds = { models: [M], caps: { day: '1' }, budget: '5', no_logs: true, requests_per_minute: 100 }
  const platform = await platformKey(bounds)
  for (const [body, param] of [
    [{ models: [M, 'test/other'] }, 'models[1]'],
    [{ caps: { day: '1.1' } }, 'caps.day'],
    [{ budget: '6' }, 'budget'],
    [{ no_logs: false }, 'no_logs'],
    [{ allow_retention: true }, 'allow_retention'],
    [{ requests_per_minute: 101 }, 'requests_per_minute'],
    [{ platform: true }, 'platform'],
    [{ paused: true }, 'paused'],
  ] as const) {
    assertRefused(await make(platform.api_key, body), 400, null, param)
  }
  assert.equal((await make(platform.api_key, { capture_content: true })).body['capture_content'], true)
  const { body: sub } = await make(platform.api_key, { caps: { hour: '0.5' } })
  assert.deepEqual(sub['caps'], { hour: '0.5', day: '1', month: null })
  assert.deepEqual([sub['models'], sub['budget'], sub['no_logs']], [[M], '5', true])
  // It says so itself, or its content is not captured.
  assert.equal(sub['capture_content'], false)
  completion(await ask(sub.api_key))
  assertError(await ask(sub.api_key, 'test/other'), 403, 'model_not_allowed')
  const watch = new Stopwatch()
  const patch = (body: Json) => api(url, 'PATCH', `/v1/account/keys/${platform.id}`, { token: owner.token, body })
  await patch({ paused: true })
  await watch.until('it is paused with its platform', async () => (await ask(sub.api_key)).status === 403)
  await patch({ paused: false })
  await watch.until('it is resumed', async () => (await ask(sub.api_key)).status === 200)
  for (const bound of [{ caps: { hour: '0.000000001' } }, { budget: '0.000000001' }]) {
    await patch(bound)
    const code = 'budget' in bound ? 'key_budget_exceeded' : 'spend_limit_exceeded'
    let capped: Reply | undefined
    await watch.until('it is capped with its platform', async () => {
      capped = await ask(sub.api_key)
      return capped.text.includes(code)
    })
    assertError(present(capped), 402, code)
    await patch({ caps: { hour: null }, budget: '5' })
    await watch.until('the cap is gone', async () => (await ask(sub.api_key)).status === 200)
  }
  await api(url, 'DELETE', `/v1/account/keys/${platform.id}`, { token: owner.token })
  await watch.until('it ends with its platform', async () => (await ask(sub.api_key)).status === 401)
  watch.assertWithin(1_000)
})

test('a permission withdrawn from a platform key is withdrawn from its sub-keys', async () => {
  const platform = await platformKey({ allow_retention: true })
  const { body: open } = await make(platform.api_key)
  const { body: other } = await make(platform.api_key, { models: ['test/other'], tools: ['web.search'] })
  const patch = (body: Json) => api(url, 'PATCH', `/v1/account/keys/${platform.id}`, { token: owner.token, body })
  const refusedWith = async (by: Key, status: number, code: string, attempt = () => ask(by.api_key, 'test/other')) => {
    const refused = await untilRead(`it is refused with ${code}`, attempt, (reply) => reply.status === status)
    assertError(refused, status, code)
  }
  for (const by of [open, other]) completion(await ask(by.api_key, 'test/other'))

  await patch({ models: [M] })
  for (const by of [open, other]) await refusedWith(by, 403, 'model_not_allowed')
  completion(await ask(open.api_key))
  assertError(await ask(other.api_key), 403, 'model_not_allowed')
  await patch({ models: [] })
  await until('it may again', async () => (await ask(open.api_key, 'test/other')).status === 200)

  // The tool keeps records, which the sub-keys have opted in to as their platform key has.
  const tool = (by: Key) => () => callTool(url, by.api_key, 'web.search', { query: 'x' })
  for (const by of [open, other]) assert.equal((await tool(by)()).status, 200)
  await patch({ tools: ['web.other'] })
  for (const by of [open, other]) await refusedWith(by, 403, 'tool_not_allowed', tool(by))
  await patch({ tools: [] })

  for (const [narrowed, widened] of [
    [{ allow_retention: false }, { allow_retention: true }],
    [{ no_logs: true }, { no_logs: false }],
  ] as const) {
    await until('the tool runs', async () => (await tool(open)()).status === 200)
    await patch(narrowed)
    await refusedWith(open, 409, 'retention_required', tool(open))
    await patch(widened)
  }
  // A model without rates for it is not on the private tier.
  await patch({ private_tier: true })
  await refusedWith(open, 404, 'no_route_for_policy')
  await patch({ private_tier: false })
  await until('it is off the private tier', async () => (await ask(open.api_key)).status === 200)
  await patch({ requests_per_minute: 1 })
  await refusedWith(open, 429, 'rate_limited')
  await patch({ requests_per_minute: null })
  await stack.settled()
  await stack.audit()
})

test('only a platform key creates sub-keys, and it can revoke only its own', async () => {
  const [platform, another] = [await platformKey(), await platformKey()]
  const { body: sub } = await make(platform.api_key)
  for (const token of [owner.apiKey, sub.api_key]) assertRefused(await make(token), 403, 'permission_denied')
  assert.deepEqual((await list(owner.apiKey)).data, [])
  const stranger = await newOwner(stack)
  for (const token of [another.api_key, owner.apiKey, stranger.apiKey, sub.api_key]) {
    assertRefused(await revoke(token, sub.id), 403, 'permission_denied')
  }
  for (const id of ['key_0123456789ABCDEFGHJKMNPQRS', 'key_x']) {
    assertRefused(await revoke(platform.api_key, id), 404, 'key_not_found')
  }
  assertRefused(await make(owner.token), 403, 'wrong_credential')
  for (let i = 0; i < 5; i++) await make(platform.api_key)
  assertRefused(await make(platform.api_key), 400, null)
})

test("a sub-key cannot move the account's coin to agents, manage them, or read the balance", async () => {
  const rich = await newOwner(stack, { coin: '3' })
  const platform = await platformKey({}, rich)
  const { body: sub } = await make(platform.api_key)
  const agent = '/v1/agents/platform-agent'
  const body = { slug: 'platform-agent', approval_threshold: '0.1' }
  await apiOk(url, 'POST', '/v1/agents', { token: rich.token, body })
  const token = sub.api_key
  for (const path of ['/fund', '/pay', '/key']) {
    const asked = path === '/pay' ? { to: 'owner', amount: '1' } : path === '/fund' ? { amount: '1' } : {}
    assertRefused(await api(url, 'POST', agent + path, { token, body: asked }), 403, 'permission_denied')
  }
  assertRefused(await api(url, 'GET', `${agent}/approvals`, { token }), 403, 'permission_denied')
  assert.deepEqual(await apiOk(url, 'GET', agent, { token }), await apiOk(url, 'GET', agent))
  const client = await connectMcp(url, token)
  assertToolError(await callMcp(client, 'balance'), 403, 'permission_denied')
  await client.close()
  // The platform key itself is the account's.
  assert.equal((await apiOk(url, 'GET', agent, { token: platform.api_key }))['approval_threshold'], '0.1')
  assert.equal(
    (await api(url, 'POST', `${agent}/fund`, { token: platform.api_key, body: { amount: '1' } })).status,
    201,
  )
  const { balance } = await apiOk<{ balance: Json }>(url, 'GET', agent, { token: rich.token })
  assert.deepEqual(balance, { coin: '1' })
  await stack.settled()
  await stack.audit()
})

test('usage across the sub-keys equals their receipts', async () => {
  const platform = await platformKey()
  const subs = [(await make(platform.api_key)).body, (await make(platform.api_key)).body]
  let units = 0
  for (const sub of [...subs, ...subs, subs[0] ?? assert.fail()]) {
    units += Number(completion(await ask(sub.api_key)).receipt.cost.units)
  }
  completion(await ask(platform.api_key))
  completion(await ask(owner.apiKey))
  await stack.settled()
  const usage = await apiOk<{ total: Json & { cost: Json }; data: Json[] }>(
    url,
    'GET',
    '/v1/platform/usage?group_by=key',
    { token: platform.api_key },
  )
  assert.deepEqual([usage.total['requests'], usage.total.cost['units']], [5, String(units)])
  assert.deepEqual(
    new Map(usage.data.map((group) => [group['key_id'], group['requests']])),
    new Map([...subs.entries()].map(([i, sub]) => [sub.id, i === 0 ? 3 : 2]).sort() as [string, number][]),
  )
})
