// Goal: an endpoint is on the list once it was asked for its models, and the gateway is sent to no address that is not
// public. Method: two whole stacks, one whose operator allows private addresses; endpoints that answer as a test says.
import assert from 'node:assert/strict'
import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const MODELS = JSON.stringify({ object: 'list', data: [{ id: 'one' }, { id: 'two' }, { id: 'one' }] })
/** Longer than a busy machine lets the endpoint stand still, and far less than a call to control may take. */
const SILENCE_MS = 5_000
const CALL_MS = 30_000
const LIMITS = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, providersPerAccountMax: 3 }

let open: Stack
let strict: Stack
let owner: Owner
let endpoint: Server
let port: number
let asked: IncomingMessage[] = []
let play: (request: IncomingMessage, response: ServerResponse) => void

before(async () => {
  endpoint = createServer((request, response) => {
    asked.push(request)
    play(request, response)
  })
  await new Promise<void>((listening) => endpoint.listen(0, '127.0.0.1', listening))
  port = (endpoint.address() as AddressInfo).port
  const limits = {
    ...LIMITS,
    providerChecksPerMinute: 1_000,
    providerCheckBytesMax: 2_000,
    providerCheckMs: SILENCE_MS,
    apiTimeoutMs: CALL_MS,
    rpcTimeoutMs: CALL_MS,
  }
  open = await startStack({ limits, env: { SLUICE_PRIVATE_PROVIDERS: '1' } })
  strict = await startStack({ limits: { ...LIMITS, providerChecksPerMinute: 20 } })
  owner = await newOwner(open)
})
after(async () => {
  endpoint.closeAllConnections()
  endpoint.close()
  await open.finish()
  await strict.finish()
})

interface Provider extends Json {
  readonly id: string
  readonly base_url: string
  readonly models: string[]
}

const listing: typeof play = (_request, response) => response.end(MODELS)
const at = (path: string) => `http://127.0.0.1:${port}${path}`
const register = (by: Owner, body: Json, stack = open) =>
  api<Provider>(stack.baseUrl, 'POST', '/v1/providers', { token: by.token, body: { name: 'Mine', ...body } })

/** The list as everybody reads it. */
async function listed(query = ''): Promise<{ data: Provider[]; has_more: boolean }> {
  return apiOk(open.baseUrl, 'GET', `/v1/providers${query}`)
}

test('an endpoint is queried for its models and listed; its key is used only for that', async () => {
  play = listing
  asked = []
  const answer = await register(owner, { base_url: at('/v1/'), api_key: 'their-own-key', data_policy: 'none' })
  assert.equal(answer.status, 201, answer.text)
  const { id, models, base_url } = answer.body
  assert.match(id, /^prov_/)
  assert.deepEqual([models, base_url], [['one', 'two'], at('/v1')])
  assert.deepEqual([asked[0]?.url, asked[0]?.headers.authorization], ['/v1/models', 'Bearer their-own-key'])
  assert.deepEqual((await listed()).data[0], answer.body)
  assert.ok(!JSON.stringify(await listed()).includes(owner.accountId))
  const activity = await api(open.baseUrl, 'GET', '/v1/account/activity', { token: owner.token })
  assert.ok(activity.text.includes('provider.registered'))
  for (const text of [answer.text, activity.text, open.logs()]) assert.ok(!text.includes('their-own-key'))
})

test('registering the same address again checks and updates it; only the owner can remove it', async () => {
  play = listing
  asked = []
  const [first, other] = [await register(owner, { base_url: at('/again') }), await newOwner(open)]
  const body = { base_url: at('/again/'), name: 'New name', dialect: 'anthropic', api_key: 'k' }
  const second = await register(owner, body)
  assert.deepEqual([first.status, second.status, second.body.id], [201, 200, first.body.id])
  assert.deepEqual([second.body['name'], second.body['dialect']], ['New name', 'anthropic'])
  assert.deepEqual([asked[1]?.headers['x-api-key'], asked[1]?.headers['anthropic-version']], ['k', '2023-06-01'])
  const path = `/v1/providers/${first.body.id}`
  assertRefused(await api(open.baseUrl, 'DELETE', path, { token: other.token }), 403, 'permission_denied')
  assert.equal((await api(open.baseUrl, 'DELETE', path, { token: owner.token })).status, 200)
  assertRefused(await api(open.baseUrl, 'DELETE', path, { token: owner.token }), 404, 'provider_not_found')
  assertRefused(await api(open.baseUrl, 'DELETE', '/v1/providers/x', { token: owner.token }), 404, 'provider_not_found')
  assert.ok(!(await listed()).data.some(({ id }) => id === first.body.id))
})

test('an account has a bounded number of providers, also under concurrent registration', async () => {
  play = listing
  const many = await newOwner(open)
  const answers = await Promise.all(Array.from({ length: 6 }, (_, i) => register(many, { base_url: at(`/many/${i}`) })))
  assert.equal(answers.filter(({ status }) => status === 201).length, LIMITS.providersPerAccountMax)
  for (const answer of answers) if (answer.status !== 201) assertRefused(answer, 400, null)
  const page = await listed('?limit=2')
  assert.deepEqual([page.data.length, page.has_more], [2, true])
  const next = await listed(`?limit=2&after=${page.data[1]?.id}`)
  assert.ok(next.data.every(({ id }) => id < (page.data[1]?.id ?? '')))
})

/** What an endpoint does that is none, and what is said of it. */
const BAD: readonly [name: string, play: (request: IncomingMessage, response: ServerResponse) => void, code: string][] =
  [
    ['asks for a key', (_, response) => response.writeHead(401).end('{}'), 'endpoint_invalid'],
    ['fails', (_, response) => response.writeHead(500).end('{}'), 'endpoint_invalid'],
    ['redirects', (_, response) => response.writeHead(302, { location: at('/v1/models') }).end(), 'endpoint_invalid'],
    ['is no JSON', (_, response) => response.end('<html>'), 'endpoint_invalid'],
    ['has no models', (_, response) => response.end('{"data":[]}'), 'endpoint_invalid'],
    [
      'has models without ids',
      (_, response) => response.end('{"data":[null,1,{"id":""},{"id":"a b"}]}'),
      'endpoint_invalid',
    ],
    ['nests deeply', (_, response) => response.end('['.repeat(2_000)), 'endpoint_invalid'],
    ['is too large', (_, response) => response.end('x'.repeat(2_001)), 'endpoint_unreachable'],
    ['is silent', () => {}, 'endpoint_unreachable'],
    ['never ends', (_, response) => response.write('{'), 'endpoint_unreachable'],
    ['breaks off', (request) => request.socket.destroy(), 'endpoint_unreachable'],
  ]

test('an endpoint with invalid responses is rejected with the reason, in time', async () => {
  const before = (await listed()).data.length
  for (const [, bad, code] of BAD) {
    play = bad
    const answer = await register(owner, { base_url: at('/bad') })
    // An endpoint that is not given up in time is answered for by the deadline of the whole call, with another code.
    assertRefused(answer, 400, code, 'base_url')
  }
  const nobody = createServer()
  await new Promise<void>((listening) => nobody.listen(0, '127.0.0.1', listening))
  const { port: free } = nobody.address() as AddressInfo
  await new Promise((closed) => nobody.close(closed))
  const base_url = `http://127.0.0.1:${free}/v1`
  assertRefused(await register(owner, { base_url }), 400, 'endpoint_unreachable', 'base_url')
  assertRefused(await register(owner, { base_url: 'http://no-such-host.invalid/v1' }), 400, 'endpoint_unreachable')
  assert.equal((await listed()).data.length, before)
})

test('an invalid endpoint address is rejected with the expected form', async () => {
  for (const base_url of [
    'nonsense',
    'ftp://example.com/v1',
    'http://user@example.com/v1',
    'http://:pass@example.com/v1',
    'http://example.com/v1?x=1',
    'http://example.com/v1#x',
    'http://',
    '',
  ]) {
    assertRefused(await register(owner, { base_url }), 400, null, 'base_url')
  }
  assertRefused(await register(owner, { base_url: at('/v1'), dialect: 'other' }), 400, null, 'dialect')
  assertRefused(await register(owner, { base_url: at('/v1'), name: '' }), 400, null, 'name')
  assertRefused(await register(owner, { base_url: at('/v1'), api_key: 'a\r\nb' }), 400, null, 'api_key')
})

test('unless the operator allows it, no private address is probed, in any notation, and probes are rate limited', async () => {
  play = listing
  asked = []
  const by = await newOwner(strict)
  const hosts = ['127.0.0.1', 'localhost', '127.1', '0x7f.1', '2130706433', '[::1]', '[::ffff:127.0.0.1]', '0.0.0.0']
  for (const host of [...hosts, '10.0.0.1', '192.168.1.1', '169.254.169.254', '100.64.0.1', '[fd00::1]', '[fe80::1]']) {
    const answer = await register(by, { base_url: `https://${host}:${port}/v1` }, strict)
    assertRefused(answer, 400, 'endpoint_not_public', 'base_url')
  }
  assertRefused(await register(by, { base_url: 'http://example.com/v1' }, strict), 400, null, 'base_url')
  assert.equal(asked.length, 0)
  // Twenty a minute at first, then one in three seconds.
  const statuses: number[] = []
  while (statuses.filter((status) => status === 429).length < 3 && statuses.length < 60) {
    const answer = await register(by, { base_url: 'https://127.0.0.1/v1' }, strict)
    if (answer.status === 429) assertRefused(answer, 429, 'rate_limited', undefined)
    statuses.push(answer.status)
  }
  assert.equal(statuses[0], 400)
  assert.ok(statuses.length < 60, 'a rate was kept to')
})
