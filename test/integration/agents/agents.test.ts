// Goal: an agent has coin, a key and a policy of its own, which hold on every request and payment, and nobody else decides
// over it. Method: a whole stack with two proxy processes; owners and agents over HTTP; every test ends with the audit.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Agent, AgentClient } from '../../support/clients/agentClient.ts'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { searchTool } from '../../support/clients/toolClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { Stopwatch } from '../../support/stopwatch.ts'

const M = 'test/small'
const WITHIN_MS = 1_000

let stack: Stack
let url: string
let owner: Owner
let agents: AgentClient

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, leaderboardKeptMs: 1 }
  const catalog = {
    models: [{ id: M }, { id: 'test/other' }],
    tools: [searchTool('web.search'), searchTool('web.scrape')],
  }
  stack = await startStack({ workers: 2, catalog, limits: { ...rates, agentsPerAccountMax: 50 } })
  url = stack.baseUrl
  owner = await newOwner(stack, { coin: '100' })
  agents = new AgentClient(url, owner)
})

afterEach(async () => {
  await stack.settled()
  await stack.audit()
})
after(() => stack.finish())

test('an agent is created with its policy; only its owner and itself can read it in full', async () => {
  const policy = {
    name: 'Researcher',
    description: 'Finds things.',
    models: [M],
    tools: ['web.search'],
    caps: { hour: '1', day: '2', month: null },
    budget: '50',
    request_cap: '0.5',
    approval_threshold: '0.25',
    paused: false,
  }
  const made = await apiOk<Agent>(url, 'POST', '/v1/agents', {
    token: owner.token,
    body: { slug: 'reader-1', ...policy },
  })
  assert.match(made.id, /^agt_/)
  assert.deepEqual([made['object'], made.slug, made.balance, made['key']], ['agent', 'reader-1', { coin: '0' }, null])
  for (const [name, value] of Object.entries(policy)) assert.deepEqual(made[name], value, name)
  const open = await apiOk<Json>(url, 'GET', '/v1/agents/reader-1')
  const { object, id, slug, name, description, created_at } = made
  assert.deepEqual(open, { object, id, slug, name, description, created_at })
  const other = await newOwner(stack)
  assert.deepEqual(await apiOk(url, 'GET', '/v1/agents/reader-1', { token: other.token }), open)
  assert.deepEqual(await agents.read('reader-1', owner.apiKey), { ...made, available: { coin: '0' } })
  const issued = await agents.post<{ api_key: string; last4: string }>('/v1/agents/reader-1/key', owner.token)
  assert.equal(issued.status, 201)
  const own = await agents.read('reader-1', issued.body.api_key)
  assert.deepEqual((own['key'] as Json)['last4'], issued.body.api_key.slice(-4))
  assert.ok(!JSON.stringify(own).includes(issued.body.api_key))
  const list = await apiOk<{ data: Agent[] }>(url, 'GET', '/v1/agents?limit=1', { token: owner.token })
  assert.deepEqual(list.data, [own])
  assertRefused(await api(url, 'GET', '/v1/agents/nobody'), 404, 'agent_not_found')
})

test('slugs are unique and validated', async () => {
  const slug = 'taken-once'
  const other = await newOwner(stack)
  const made = await Promise.all(
    Array.from({ length: 8 }, (_, i) => agents.post('/v1/agents', i % 2 ? owner.token : other.token, { slug })),
  )
  assert.equal(made.filter(({ status }) => status === 201).length, 1)
  for (const answer of made) if (answer.status !== 201) assertRefused(answer, 409, 'slug_taken', 'slug')
  for (const bad of [
    'ab',
    'Abc',
    '1abc',
    'a--b',
    'abc-',
    'a_b',
    'a b',
    'x'.repeat(41),
    'owner',
    'leaderboard',
    7,
    '',
  ]) {
    assertRefused(await agents.post('/v1/agents', owner.token, { slug: bad }), 400, null, 'slug')
  }
  for (const [body, param] of [
    [{}, 'slug'],
    [{ slug: 'fine-one', models: ['no/such'] }, 'models[0]'],
    [{ slug: 'fine-one', tools: ['no.such'] }, 'tools[0]'],
    [{ slug: 'fine-one', request_cap: '-1' }, 'request_cap'],
    [{ slug: 'fine-one', approval_threshold: 5 }, 'approval_threshold'],
    [{ slug: 'fine-one', caps: { week: '1' } }, 'caps.week'],
  ] as const) {
    assertRefused(await agents.post('/v1/agents', owner.token, body), 400, null, param)
  }
})

test('an agent spends only its own coin', async () => {
  const { slug, key } = await agents.make()
  assertError(await agents.ask(key), 402, 'insufficient_balance')
  const before = await apiOk<{ balance: Json }>(url, 'GET', '/v1/account', { token: owner.token })
  const funded = await agents.fund(slug, '2')
  assert.equal(funded.status, 201, funded.text)
  assert.deepEqual([funded.body['from'], funded.body['to']], ['owner', slug])
  assert.deepEqual(await agents.coinOf(slug), ['2', '2'])
  const receipt = completion(await agents.ask(key)).receipt
  await stack.settled()
  assert.equal((await agents.coinOf(slug))[0], String((2e9 - Number(receipt.cost.units)) / 1e9))
  const after = await apiOk<{ balance: Json }>(url, 'GET', '/v1/account', { token: owner.token })
  assert.equal(Number(before.balance['coin']) - Number(after.balance['coin']), 2)
  assertRefused(await agents.fund(slug, '1000'), 402, 'insufficient_balance')
})

test('a changed policy applies to every request within a second', async () => {
  const { slug, key } = await agents.make({ models: ['test/other'] })
  await agents.fund(slug, '5')
  let watch = new Stopwatch()
  const everywhere = async (status: number, code?: string) => {
    await watch.until('every process says so', async () => {
      const replies = await Promise.all(Array.from({ length: 8 }, () => agents.ask(key)))
      return replies.every((reply) => reply.status === status && reply.text.includes(code ?? ''))
    })
    if (code !== undefined) assertError(await agents.ask(key), status, code)
  }
  await everywhere(403, 'model_not_allowed')
  // Until here nothing has changed.
  watch = new Stopwatch()
  await agents.patch(slug, { models: [] })
  await everywhere(200)
  await agents.patch(slug, { request_cap: '0.000001' })
  await everywhere(402, 'request_cap_exceeded')
  await agents.patch(slug, { request_cap: null, caps: { hour: '0' } })
  await everywhere(402, 'spend_limit_exceeded')
  await agents.patch(slug, { caps: { hour: null }, budget: '0.000000001' })
  await everywhere(402, 'key_budget_exceeded')
  await agents.patch(slug, { budget: null, paused: true })
  await everywhere(403, 'key_paused')
  await agents.patch(slug, { paused: false })
  await everywhere(200)
  watch.assertWithin(WITHIN_MS)
})

test('an output without a limit shrinks to the request cap', async () => {
  // 1,000 units an input token and 2,000 an output token.
  const { slug, key } = await agents.make({ request_cap: '0.0002' })
  await agents.fund(slug, '5')
  const { receipt } = completion(await chat(url, key, { model: M }))
  assert.equal(receipt.hold.units, '200000')
  assertError(await agents.ask(key, { max_tokens: 1_000 }), 402, 'request_cap_exceeded')
})

test('a new key revokes the previous one, and the amounts spent still count', async () => {
  const { slug, key } = await agents.make()
  await agents.fund(slug, '5')
  const { receipt } = completion(await agents.ask(key))
  await stack.settled()
  await agents.patch(slug, { budget: receipt.cost.usd })
  const second = await agents.post<{ api_key: string }>(`/v1/agents/${slug}/key`, owner.token)
  await until('the first key is refused', async () => (await agents.ask(key)).status === 401)
  assertError(await agents.ask(second.body.api_key), 402, 'key_budget_exceeded')
})

test('only its owner manages an agent', async () => {
  const { slug, key } = await agents.make()
  const other = await newOwner(stack, { coin: '5' })
  const capped = await apiOk<{ api_key: string }>(url, 'POST', '/v1/account/keys', {
    token: owner.token,
    body: { caps: { day: '1' } },
  })
  // An agent would outlive the key that made it.
  const ending = await apiOk<{ api_key: string }>(url, 'POST', '/v1/account/keys', {
    token: owner.token,
    body: { expires_at: new Date(Date.now() + 3_600_000).toISOString() },
  })
  const decisions: [string, string, Json][] = [
    ['PATCH', `/v1/agents/${slug}`, { paused: true }],
    ['POST', `/v1/agents/${slug}/key`, {}],
    ['POST', `/v1/agents/${slug}/approvals/apr_0123456789ABCDEFGHJKMNPQRS/approve`, {}],
  ]
  for (const token of [other.token, other.apiKey, key, capped.api_key, ending.api_key]) {
    for (const [method, path, body] of decisions) {
      assertRefused(await api(url, method, path, { token, body }), 403, 'permission_denied')
    }
  }
  for (const token of [other.token, other.apiKey, key])
    assertRefused(await agents.fund(slug, '1', token), 403, 'permission_denied')
  for (const token of [key, capped.api_key, ending.api_key]) {
    assertRefused(await agents.post('/v1/agents', token, { slug: 'made-by-agent' }), 403, 'permission_denied')
  }
  assertRefused(
    await agents.post(`/v1/agents/${slug}/pay`, other.token, { to: 'owner', amount: '1' }),
    403,
    'permission_denied',
  )
  assertRefused(await api(url, 'GET', `/v1/agents/${slug}/approvals`, { token: other.token }), 403, 'permission_denied')
  // A key with caps may fund an agent within them.
  assert.equal((await agents.fund(slug, '0.6', capped.api_key)).status, 201)
  assertRefused(await agents.fund(slug, '0.6', capped.api_key), 402, 'spend_limit_exceeded')
})

test('the public ranking orders agents by their requests', async () => {
  const { slug, key } = await agents.make()
  await agents.fund(slug, '1')
  for (let i = 0; i < 12; i++) completion(await agents.ask(key))
  await stack.settled()
  const { object, data } = await apiOk<{ object: string; data: Json[] }>(url, 'GET', '/v1/agents/leaderboard?days=1')
  assert.equal(object, 'list')
  assert.deepEqual(
    data.map(({ rank }) => rank),
    data.map((_, i) => i + 1),
  )
  const requests = data.map((entry) => Number(entry['requests']))
  assert.deepEqual(
    requests,
    requests.toSorted((a, b) => b - a),
  )
  const own = data.find((entry) => entry['slug'] === slug)
  assert.deepEqual([own?.['requests'], own?.['name']], [12, slug])
  const top = await apiOk<{ data: Json[]; has_more: boolean }>(url, 'GET', '/v1/agents/leaderboard?days=1&limit=1')
  assert.deepEqual([top.data, top.has_more], [data.slice(0, 1), data.length > 1])
  const usage = await apiOk<{ data: Json[] }>(url, 'GET', '/v1/account/usage?group_by=agent', { token: owner.token })
  const used = usage.data.find((group) => group['agent_id'] === undefined || group['requests'] === 12)
  assert.equal(used?.['agent_id'], (await agents.read(slug)).id)
  assertRefused(await api(url, 'GET', '/v1/agents/leaderboard?days=0'), 400, null, 'days')
})

test('every change of an agent is in the activity of its owner', async () => {
  const by = await newOwner(stack, { coin: '5' })
  const [one, two] = [await agents.make({}, by), await agents.make({}, by)]
  await agents.fund(one.slug, '2', by.token)
  await agents.patch(one.slug, { paused: false, request_cap: '1' }, by.token)
  await agents.post(`/v1/agents/${one.slug}/pay`, one.key, { to: two.slug, amount: '1' })
  const { data } = await apiOk<{ data: Json[] }>(url, 'GET', '/v1/account/activity', { token: by.token })
  const seen = data.map((entry) => [entry['type'], (entry['actor'] as Json)['type']]).slice(0, 7)
  assert.deepEqual(seen, [
    ['agent.paid', 'key'],
    ['agent.updated', 'wallet'],
    ['agent.funded', 'wallet'],
    ['agent.key_issued', 'wallet'],
    ['agent.created', 'wallet'],
    ['agent.key_issued', 'wallet'],
    ['agent.created', 'wallet'],
  ])
})
