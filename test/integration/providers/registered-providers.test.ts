// Goal: a registered provider serves its share and is paid to the unit; one that fails, is slow, answers otherwise or reports
// too much is out of service by itself, and no client sees more of it than an answer. Method: one stack, endpoints that
// pass requests on to the mock provider or spoil them, all receipts against the place of their ids, the audit at the end.

import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { SERVING_KEY } from '../../../contract/wire/redisKeys.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { placeInMillion } from '../../../proxy/upstream/chooseCanary.ts'
import { awayFromMidnight } from '../../support/awayFromTheHour.ts'
import { api, apiOk, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { chat, chatStream } from '../../support/clients/chatClient.ts'
import { limits } from '../../support/limits.ts'
import { type Conduct, RegisteredEndpoint } from '../../support/providers/registeredEndpoint.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'

const KEY = 'key-of-the-endpoint'
const NAMES = ['good', 'failing', 'slow', 'wrong', 'over', 'leaving', 'retaining', 'killed'] as const
type Name = (typeof NAMES)[number]

let stack: Stack
let pool: Pool
let endpoint: RegisteredEndpoint
let owner: Owner
let client: Owner
const ids = new Map<Name, string>()

const HALF = ['--canary', '0.5', '--full', '0.5', '--probation-hours', '0', '--probation-requests', '1000']

before(async () => {
  await awayFromMidnight()
  stack = await startStack({
    workers: 2,
    catalog: { models: NAMES.map((name) => ({ id: `test/${name}` })) },
    env: { SLUICE_PRIVATE_PROVIDERS: '1' },
    limits: {
      apiRequestsPerMinute: 60_000,
      apiRequestBurst: 10_000,
      signInRequestsPerMinute: 60_000,
      signInRequestBurst: 10_000,
      providersPerAccountMax: 20,
      providerChecksPerMinute: 1_000,
      providerJudgeMs: 100,
      providerRequestsMin: 5,
      providerProbesMin: 2,
      providerProbeMs: 300,
      providerPayMs: 100,
      providerPayBatchMax: 7,
      pulseIntervalMs: 100,
    },
  })
  pool = createPool(stack.databaseUrl, limits)
  endpoint = new RegisteredEndpoint(stack.provider.url())
  await endpoint.start()
  owner = await newOwner(stack)
  client = await newOwner(stack, { coin: '50' })
})

after(async () => {
  await stack.settled()
  await paid()
  await endpoint.stop()
  await pool.end()
  await stack.finish()
})

/** Registers an endpoint and admits it for the model of its name. */
async function admit(name: Name, conduct: Conduct, terms: readonly string[] = ['--share', '0.7']): Promise<void> {
  endpoint.conducts.set(name, conduct)
  const policy = name === 'retaining' ? 'retained' : 'none'
  const body = { name, base_url: endpoint.url(name), api_key: KEY, data_policy: policy, offered: true }
  const { id } = await apiOk<{ id: string }>(stack.baseUrl, 'POST', '/v1/providers', { token: owner.token, body })
  ids.set(name, id)
  const args = ['provider', 'admit', id, `test/${name}`, '--upstream-model', name, ...HALF, ...terms]
  const admitted = await stack.cli(...args)
  assert.equal(admitted.code, 0, admitted.stderr)
  await serves(name, true)
}

/** Waits until the proxies are told that a provider serves, or does not. Each worker reads it a moment later. */
function serves(name: Name, whether: boolean): Promise<void> {
  return stack.withRedis((redis) =>
    until(`${name} serves: ${whether}`, async () => {
      const record = await redis.getBuffer(SERVING_KEY)
      return (record?.includes(ids.get(name) ?? '') ?? false) === whether
    }),
  )
}

/** Sends requests one by one, or so many at once, and asserts that each is answered. */
async function send(name: Name, count: number, stream: boolean, key = client.apiKey): Promise<void> {
  for (let i = 0; i < count; i++) {
    const body = { model: `test/${name}`, max_tokens: 20 }
    const { status, text } = stream ? await chatStream(stack.baseUrl, key, body) : await chat(stack.baseUrl, key, body)
    assert.equal(status, 200, text)
  }
}

interface Booked {
  readonly request_id: string
  readonly provider: string
  readonly charge_units: number
  readonly usage_source: string
  readonly tries: number
}

async function receiptsOf(name: Name): Promise<Booked[]> {
  await stack.settled()
  const sql =
    'SELECT request_id, provider, charge_units, usage_source, tries FROM receipts WHERE model = $1 ORDER BY request_id'
  return (await pool.query<Booked>(sql, [`test/${name}`])).rows
}

/** Sends requests until an endpoint has served one: on a loaded machine the catalog's route may serve what it is too slow for. */
const hasServed = (name: Name) =>
  until(`${name} has served a request`, async () => {
    await send(name, 10, false)
    return (await receiptsOf(name)).some(({ provider }) => provider !== 'mock')
  })

const paid = () =>
  until('every receipt is counted for providers', async () => {
    const sql = 'SELECT sum(h.size - c.position) AS n FROM usage_log_heads h JOIN provider_cursors c USING (log)'
    return (await pool.query<{ n: number }>(sql)).rows[0]?.n === 0
  })

interface Admitted extends Json {
  readonly model: string
  readonly state: string
  readonly reason: string | null
  readonly receipts: number
  readonly earned: { units: string }
}

/** An admission as the owner sees it. */
async function own(name: Name): Promise<Admitted> {
  const by = { token: owner.token }
  const { data } = await apiOk<{ data: Admitted[] }>(stack.baseUrl, 'GET', '/v1/account/providers', by)
  return data.find(({ model }) => model === `test/${name}`) ?? assert.fail(`${name} is not admitted`)
}

/** Waits until a provider is suspended, and asks it meanwhile: no request counts before the workers know of it. */
async function suspended(name: Name, reason: string, ask = async (): Promise<void> => undefined): Promise<void> {
  await until(`${name} is suspended`, async () => {
    await ask()
    return (await own(name)).state === 'suspended'
  })
  assert.equal((await own(name)).reason, reason)
}

test('a provider serves exactly the requests in its part of the hash range, and is paid its share', async () => {
  await admit('good', 'chat-small')
  // With the referral share, more than the charge would be paid.
  const greedy = await stack.cli('provider', 'admit', ids.get('good') ?? '', 'test/slow', '--share', '0.951')
  assert.match(greedy.stderr, /--share must be a share from 0 to 0\.95/)
  const id = ids.get('good') ?? ''
  let receipts: Booked[] = []
  const inPart = ({ request_id }: Booked): boolean => placeInMillion(request_id) < 500_000
  // A worker asks none before it has read of it, and another try serves what it is too slow for.
  await until('it is asked for all of its part', async () => {
    const before = receipts.at(-1)?.request_id ?? ''
    await Promise.all(Array.from({ length: 4 }, (_, i) => send('good', 15, i % 2 === 0)))
    receipts = await receiptsOf('good')
    for (const one of receipts) if (!inPart(one)) assert.equal(one.provider, 'mock')
    const round = receipts.filter((one) => inPart(one) && one.request_id > before)
    return round.every(({ provider, tries }) => provider === id || tries > 1)
  })
  const served = receipts.filter(({ provider }) => provider === id)
  assert.ok(served.length > 0)
  await paid()
  const due = served.reduce((sum, { charge_units }) => sum + charge_units * 7, 0)
  const { receipts: counted, earned } = await own('good')
  assert.deepEqual([counted, earned.units], [served.length, String(Math.floor(due / 10))])
  const path = `/v1/statements/${new Date().toISOString().slice(0, 7)}.csv`
  const statement = await api(stack.baseUrl, 'GET', path, { token: owner.token })
  assert.ok(statement.text.includes('provider_share'), statement.text)
  assert.deepEqual([...endpoint.keys], [`Bearer ${KEY}`])
})

test('the API key of a provider is never published or logged, and figures of a single account are withheld', async () => {
  const list = await api(stack.baseUrl, 'GET', '/v1/providers')
  const good = (list.body as { data: { id: string; serving: Json[] }[] }).data.find(({ id }) => id === ids.get('good'))
  const record = good?.serving[0] ?? assert.fail()
  assert.deepEqual([record['model'], record['state'], record['traffic_share']], ['test/good', 'probation', 0.5])
  // Whoever registers it again is told the same.
  const body = { name: 'good', base_url: endpoint.url('good'), api_key: KEY, data_policy: 'none', offered: true }
  const again = await apiOk<{ serving: Json[] }>(stack.baseUrl, 'POST', '/v1/providers', { token: owner.token, body })
  assert.deepEqual(
    again.serving.map((one) => [one['model'], one['state']]),
    [['test/good', 'probation']],
  )
  // One account's requests are told to nobody.
  assert.deepEqual([record['requests'], record['error_rate'], record['first_output_ms']], [null, null, null])
  const kept = await stack.withRedis((redis) => redis.getBuffer(SERVING_KEY))
  for (const text of [list.text, stack.logs(), kept?.toString('latin1') ?? '']) assert.ok(!text.includes(KEY))
  assert.ok(!list.text.includes(owner.accountId))
})

test('a provider does not serve its owner, keys in no-logs mode, credits, or accounts that disallow retention', async () => {
  await admit('retaining', 'chat-small')
  await send('retaining', 8, false)
  const quiet = (await stack.cli('key', 'create', client.accountId, '--no-logs')).json as { api_key: string }
  const before = (await receiptsOf('good')).length
  await send('good', 8, false, quiet.api_key)
  await send('good', 8, false, owner.apiKey)
  // Also an account that has coin, as long as its credits pay.
  const promoted = await newOwner(stack, { credits: '1', coin: '1' })
  await send('good', 8, false, promoted.apiKey)
  const receipts = await receiptsOf('good')
  assert.equal(receipts.length, before + 24)
  const later = receipts.slice(before)
  assert.deepEqual(new Set(later.map(({ provider }) => provider)), new Set(['mock']))
  assert.deepEqual(new Set((await receiptsOf('retaining')).map(({ provider }) => provider)), new Set(['mock']))
})

test('a failing provider is disabled, and no client gets an error', async () => {
  await admit('failing', 'chat-small,error=500')
  await suspended('failing', 'error_rate', () => send('failing', 10, true))
  await serves('failing', false)
  // Redis has the record before each worker has read it, and a comparison may be under way.
  await until('it gets none of ten requests', async () => {
    const before = endpoint.asked.get('failing')
    await send('failing', 10, true)
    return endpoint.asked.get('failing') === before
  })
  assert.ok((await receiptsOf('failing')).every(({ provider }) => provider === 'mock'))
  const activity = await api(stack.baseUrl, 'GET', '/v1/account/activity', { token: owner.token })
  assert.ok(activity.text.includes('provider.suspended') && activity.text.includes('error_rate'))
})

test('a slow provider is disabled', async () => {
  // On a busy machine other bars may be passed first.
  const others = ['--error-rate', '1', '--mismatch-rate', '1']
  await admit('slow', 'chat-small,ttft=120', ['--share', '0.7', '--first-output', '80', ...others])
  await suspended('slow', 'latency', () => send('slow', 10, true))
})

test('a provider whose answers differ from the route of the catalog is disabled', async () => {
  const usage = { prompt_tokens: 10, completion_tokens: 3, total_tokens: 13 }
  await admit('wrong', (response) => {
    const choices = [{ index: 0, message: { role: 'assistant', content: 'Something else' }, finish_reason: 'stop' }]
    response.writeHead(200, { 'content-type': 'application/json' })
    response.end(JSON.stringify({ id: 'x', object: 'chat.completion', created: 1, model: 'm', choices, usage }))
  })
  await suspended('wrong', 'mismatch')
  const probes = await pool.query<{ units: number }>(
    `SELECT p.units FROM provider_probes p JOIN provider_admissions a ON a.id = p.admission_id
     WHERE a.model = 'test/wrong' AND p.units > 0`,
  )
  assert.ok(probes.rows.length > 0, 'its answers are paid for')
})

test('usage beyond the counted amount is not charged, and its provider is disabled', async () => {
  await admit('over', 'chat-small')
  // The comparisons alone would suspend one that no worker asks yet.
  await hasServed('over')
  const before = (await receiptsOf('over')).length
  endpoint.conducts.set('over', 'chat-small,prompt=100000,completion=9000')
  await Promise.all(Array.from({ length: 4 }, () => send('over', 8, false)))
  await suspended('over', 'over_reports', () => send('over', 10, false))
  const receipts = await receiptsOf('over')
  const served = receipts.slice(before).filter(({ provider }) => provider !== 'mock')
  const most = Math.max(...receipts.flatMap((one) => (one.provider === 'mock' ? [one.charge_units] : [])))
  assert.ok(served.length > 0)
  for (const { usage_source, charge_units } of served) {
    assert.equal(usage_source, 'estimated')
    assert.ok(charge_units <= 3 * most, `${charge_units} for what costs ${most}`)
  }
})

test('the owner disables an endpoint; the operator suspends and resumes one', async () => {
  await admit('leaving', 'chat-small', ['--price-input', '0.1', '--price-output', '0.2'])
  await hasServed('leaving')
  const id = ids.get('leaving') ?? ''
  assert.equal((await stack.cli('provider', 'suspend', id, '--reason', 'maintenance')).code, 0)
  await serves('leaving', false)
  assert.equal((await stack.cli('provider', 'resume', id)).code, 0)
  await serves('leaving', true)
  assert.equal((await api(stack.baseUrl, 'DELETE', `/v1/providers/${id}`, { token: owner.token })).status, 200)
  await serves('leaving', false)
  await receiptsOf('leaving')
  await paid()
  const { state, earned, receipts } = await own('leaving')
  assert.equal(state, 'removed')
  assert.ok(receipts > 0 && Number(earned.units) > 0)
})

test('control killed repeatedly pays every receipt once', async () => {
  await admit('killed', 'chat-small')
  for (let round = 0; round < 3; round++) {
    await send('killed', 12, round % 2 === 0)
    await stack.control.kill9()
    await stack.control.start()
    await stack.ready()
  }
  const served = (await receiptsOf('killed')).filter(({ provider }) => provider !== 'mock')
  await paid()
  const due = served.reduce((sum, { charge_units }) => sum + charge_units * 7, 0)
  assert.equal((await own('killed')).earned.units, String(Math.floor(due / 10)))
  await stack.audit()
})
