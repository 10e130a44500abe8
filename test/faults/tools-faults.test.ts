// Goal: whatever an upstream does, a call has one end with its code; what was refused or never answered costs nothing,
// what failed after an answer costs what the upstream billed. Method: the mock provider with a fault for every tool.
import assert from 'node:assert/strict'
import { request as httpRequest } from 'node:http'
import { after, before, test } from 'node:test'
import { assertError, type Reply, receiptOf } from '../support/clients/chatClient.ts'
import { answered } from '../support/clients/mediaClient.ts'
import { callTool, SCRAPE, SEARCH, scrapeTool, searchTool } from '../support/clients/toolClient.ts'
import { type CountedReceipt, servedFor } from '../support/reconcile.ts'
import { type Stack, startStack, until } from '../support/stack.ts'

const ALLOWED = { data_policy: 'none' }
const FREE = 0
const BASE = SEARCH.cost.call

/** What the upstream does; how it ends, and what is charged for it in units. */
const FAULTS: [upstream: string, status: number, code: string, cost: number][] = [
  ['error=400', 400, 'tool_input_rejected', FREE],
  ['error=404', 404, 'tool_input_rejected', FREE],
  ['error=413', 413, 'tool_input_rejected', FREE],
  ['error=422,err_body=fastapi', 422, 'tool_input_rejected', FREE],
  ['error=401', 500, 'tool_error', FREE],
  ['error=403', 500, 'tool_error', FREE],
  ['error=429,retry_after=7', 429, 'upstream_rate_limited', FREE],
  ['error=429', 429, 'upstream_rate_limited', FREE],
  ['error=408', 504, 'tool_timeout', FREE],
  ['error=504', 504, 'tool_timeout', FREE],
  ['slow_headers=55000', 504, 'tool_timeout', FREE],
  ['error=500', 502, 'tool_upstream_error', FREE],
  ['error=503,err_body=html', 502, 'tool_upstream_error', FREE],
  ['error=500,error_billed=2', 502, 'tool_upstream_error', BASE + 2 * SEARCH.cost.result],
  ['reset', 502, 'tool_upstream_error', FREE],
  ['html200', 502, 'tool_upstream_error', BASE],
  ['badjson', 502, 'tool_upstream_error', BASE],
  ['cut=1', 502, 'tool_upstream_error', BASE],
  ['hang=1', 502, 'tool_upstream_error', BASE],
]
/** What ends with a time of the gateway: asked first and all together, since each takes as long. */
const TIMED = ['slow_headers=55000', 'hang=1']
const nameOf = (upstream: string) => `t.${upstream.replace(/[^a-z0-9]/g, '-')}`

/** What the upstream bills, whatever it finds, for a search of three. */
const BILLED: [upstream: string, results: number, charged: number, clamped: boolean][] = [
  ['results=2', 2, 2, false],
  ['results=0', 0, 0, false],
  ['searches=1', 3, 1, false],
  ['searches=5', 3, 3, true],
  ['results=5', 3, 3, true],
  ['usage=none', 3, 3, false],
  ['usage=zero', 3, 0, false],
  ['usage=negative', 3, 3, false],
  ['usage=fractional', 3, 3, false],
  ['usage=absurd', 3, 3, false],
]

let stack: Stack
let apiKey: string
const timed = new Map<string, Promise<Reply>>()

before(async () => {
  const tools = [...FAULTS, ...BILLED].map(([upstream]) => searchTool(nameOf(upstream), `mock,${upstream}`, ALLOWED))
  stack = await startStack({
    limits: { firstByteTimeoutMs: 30_000, idleTimeoutMs: 30_000, breakerFailures: 3 },
    catalog: {
      tools: [
        ...tools,
        searchTool('t.elsewhere', 'mock', {
          ...ALLOWED,
          upstream: { ...searchTool('x').upstream, results: '/nothing' },
        }),
        searchTool('t.gone', 'mock', {
          ...ALLOWED,
          upstream: { ...searchTool('x').upstream, base_url: 'http://127.0.0.1:9' },
        }),
        searchTool('t.failing', 'mock,fail_first=12', ALLOWED),
        searchTool('t.slow', 'mock,slow_headers=400', ALLOWED),
        scrapeTool('t.page', 'mock,html200', ALLOWED),
      ],
    },
  })
  apiKey = (await stack.createAccount({ credits: '10' })).apiKey
  for (const upstream of TIMED) timed.set(upstream, call(nameOf(upstream)))
})
after(() => stack.finish())

const call = (id: string, input: unknown = { query: 'q' }) => callTool(stack.baseUrl, apiKey, id, input)
const receipt = async (requestId: string) => (await receiptOf(stack.baseUrl, apiKey, requestId)) as CountedReceipt

for (const [upstream, status, code, cost] of FAULTS) {
  test(`${upstream}: ${status} ${code}, charged ${cost}`, async () => {
    const reply = await (timed.get(upstream) ?? call(nameOf(upstream)))
    assertError(reply, status, code)
    if (status === 429) assert.equal(reply.headers.get('retry-after'), upstream.includes('retry_after') ? '7' : '1')
    const requestId = reply.headers.get('x-request-id') ?? ''
    assert.equal(reply.headers.get('x-cost-units'), cost === FREE ? null : String(cost))
    const { cost: booked, status: ended, error } = await receipt(requestId)
    assert.deepEqual([booked.units, ended, error], [String(cost), cost === FREE ? 'failed' : 'partial', code])
    assert.equal(servedFor(requestId, await stack.provider.log()).length, 1, 'asked once, whatever happened')
  })
}

for (const [upstream, results, charged, clamped] of BILLED) {
  test(`${upstream}: ${results} results, ${charged} charged`, async () => {
    const body = answered(await call(nameOf(upstream)))
    assert.equal((body['output'] as { results: unknown[] }).results.length, results)
    assert.equal(body.receipt.cost.units, String(SEARCH.price.call + charged * SEARCH.price.result))
    assert.equal(body.receipt.clamped, clamped)
    assert.ok(Number(body.receipt.cost.units) <= Number(body.receipt.hold.units))
  })
}

test('a response without its results is charged as the upstream billed', async () => {
  const reply = await call('t.elsewhere')
  assertError(reply, 502, 'tool_upstream_error')
  assert.equal(reply.headers.get('x-cost-units'), String(BASE + 3 * SEARCH.cost.result))
})

test('a flat-priced tool that fails after its response is charged the upstream price of a call', async () => {
  const reply = await call('t.page', { url: 'https://93.184.215.14/' })
  assertError(reply, 502, 'tool_upstream_error')
  assert.equal(reply.headers.get('x-cost-units'), String(SCRAPE.cost))
})

test('an unreachable upstream is not charged', async () => {
  const reply = await call('t.gone')
  assertError(reply, 502, 'tool_upstream_error')
  assert.equal((await receipt(reply.headers.get('x-request-id') ?? '')).cost.units, '0')
})

test('an upstream that sent Retry-After is not called until then, and the error states the time', async () => {
  const id = nameOf('error=429,retry_after=7')
  await call(id)
  const before = (await stack.provider.log()).length
  const reply = await call(id)
  assertError(reply, 429, 'upstream_rate_limited')
  assert.match(reply.headers.get('retry-after') ?? '', /^[1-7]$/)
  assert.equal((await stack.provider.log()).length, before)
})

test('an upstream that keeps failing is not called for a while, and no hold is taken', async () => {
  let sent = 0
  await until('the breaker opens', async () => {
    const reply = await call('t.failing')
    sent++
    assertError(reply, 502, 'tool_upstream_error')
    return reply.headers.get('retry-after') !== null
  })
  const seen = (await stack.provider.log()).filter(({ model }) => model === 'mock,fail_first=12')
  assert.equal(seen.length, sent - 1)
})

test('a client that disconnects is charged for the effects of its call, once', async () => {
  const before = (await stack.provider.log()).length
  await stack.provider.hold()
  const headers = { authorization: `Bearer ${apiKey}`, 'content-type': 'application/json' }
  const client = httpRequest(`${stack.baseUrl}/v1/tools/t.slow`, { method: 'POST', headers })
  client.on('error', () => undefined)
  client.end(JSON.stringify({ query: 'left alone' }))
  await stack.provider.leaveHeld(client)
  await until('the upstream has answered', async () => (await stack.provider.log()).length > before)
  await stack.settled()
  const served = (await stack.provider.log()).at(-1)
  const booked = await receipt(served?.request_id ?? '')
  assert.equal(booked.error, 'client_gone')
  assert.equal(booked.cost.units, String(SEARCH.price.call + 3 * SEARCH.price.result))
})
