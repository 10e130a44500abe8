// Goal: a tool is called, answered and charged as the catalog says, and every call that is not sound or not allowed is
// refused with its code before anything is held. Method: a whole stack over the mock provider as both upstreams.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { api, apiOk, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { assertError, type Reply, receiptOf } from '../../support/clients/chatClient.ts'
import { answered } from '../../support/clients/mediaClient.ts'
import { callTool, SCRAPE, SEARCH, scrapeTool, searchTool } from '../../support/clients/toolClient.ts'
import { memberOf } from '../../support/present.ts'
import { servedFor } from '../../support/reconcile.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const OPTED_IN = { allow_retention: true }

let stack: Stack
let owner: Owner
let apiKey: string

before(async () => {
  stack = await startStack({
    limits: { toolInputBytesMax: 4_096 },
    catalog: {
      tools: [
        searchTool('web.search'),
        scrapeTool('web.scrape'),
        searchTool('web.off', 'mock', { enabled: false }),
        searchTool('web.keyless', 'mock', {
          upstream: { ...searchTool('x').upstream, api_key_env: 'SLUICE_TEST_NO_SUCH_KEY' },
        }),
        searchTool('web.traceless', 'mock,echo', { data_policy: 'none' }),
        scrapeTool('web.moved', 'mock,text=http://169.254.169.254/latest/meta-data'),
        {
          ...scrapeTool('plain.raw'),
          data_policy: 'none',
          public_url: undefined,
          upstream: {
            path: '/scrape',
            key_header: 'x-api-key',
            api_key_env: 'SLUICE_TEST_PROVIDER_KEY',
            request: { url: '{url}' },
          },
        },
      ],
    },
  })
  owner = await newOwner(stack, { credits: '10', coin: '5' })
  apiKey = owner.apiKey
})
after(() => stack.finish())

const call = (id: string, input: unknown, headers: Record<string, string> = {}, key = apiKey) =>
  callTool(stack.baseUrl, key, id, input, headers)
const search = (query: string, more: Record<string, unknown> = {}, key = apiKey) =>
  call('web.search', { query, provider: OPTED_IN, ...more }, {}, key)
const newKey = async (...args: string[]): Promise<string> => {
  const made = await stack.cli('key', 'create', owner.accountId, '--name', 'tools', ...args)
  assert.equal(made.code, 0, made.stderr)
  return (made.json as { api_key: string }).api_key
}

test('the public list shows every tool with price, state and input schema', async () => {
  const { data } = await apiOk<{ data: Record<string, unknown>[] }>(stack.baseUrl, 'GET', '/v1/tools')
  const byId = new Map(data.map((tool) => [tool['id'], tool]))
  assert.deepEqual(byId.get('web.search')?.['price'], { base: '0.00105', result: '0.00021' })
  assert.deepEqual(byId.get('web.scrape')?.['price'], { call: '0.0021' })
  assert.deepEqual(byId.get('web.search')?.['input_schema'], searchTool('x')['input_schema'])
  const states = ['web.search', 'web.off', 'web.keyless'].map((id) => byId.get(id)?.['enabled'])
  assert.deepEqual(states, [true, false, false])
  const one = await apiOk(stack.baseUrl, 'GET', '/v1/tools/web.scrape')
  assert.deepEqual(one, byId.get('web.scrape'))
  assert.equal((await api(stack.baseUrl, 'GET', '/v1/tools/none')).status, 404)
  const sheet = await apiOk<{ tools: { id: string; price: unknown }[] }>(stack.baseUrl, 'GET', '/v1/pricing')
  assert.deepEqual(sheet.tools.find(({ id }) => id === 'web.search')?.price, byId.get('web.search')?.['price'])
})

test('a search is charged its base price and each result that the upstream bills; the rest of the hold is released', async () => {
  const body = answered(await search('cats', { count: 4 }))
  assert.equal(body['object'], 'tool.result')
  assert.equal(body['tool'], 'web.search')
  assert.equal(body['id'], body.receipt.request_id)
  const { results } = body['output'] as { results: Record<string, string>[] }
  assert.equal(results.length, 4)
  assert.deepEqual(results[0], {
    title: 'Result 1 for cats',
    url: 'https://mock.invalid/1',
    snippet: 'About cats',
  })
  const [served] = servedFor(body.receipt.request_id, await stack.provider.log())
  assert.equal(served?.quantity, 4)
  assert.deepEqual(served?.fields, { model: 'mock', q: 'cats', num: 4 })
  const due = SEARCH.price.call + 4 * SEARCH.price.result
  assert.deepEqual([body.receipt.cost.units, body.receipt.hold.units], [String(due), String(due)])
  assert.deepEqual([body.receipt.usage.quantity, body.receipt.usage.unit], [4, 'result'])
  const booked = await receiptOf(stack.baseUrl, apiKey, body.receipt.request_id)
  assert.deepEqual({ ...booked, log: undefined }, { ...body.receipt, log: undefined })
})

test('a default of the schema is used, and sizes the hold', async () => {
  const { receipt } = answered(await search('dogs'))
  assert.equal(receipt.hold.units, String(SEARCH.price.call + 3 * SEARCH.price.result))
  assert.equal(receipt.usage.quantity, 3)
})

test('a page costs its flat price', async () => {
  const reply = await call('web.scrape', { url: 'https://93.184.215.14/page', provider: OPTED_IN })
  const body = answered(reply)
  const output = body['output'] as Record<string, string>
  assert.equal(output['title'], 'A page')
  assert.match(memberOf(output, 'content'), /93\.184\.215\.14/)
  assert.equal(body.receipt.cost.units, String(SCRAPE.price))
  assert.deepEqual([body.receipt.usage.quantity, body.receipt.usage.unit], [1, 'call'])
})

test('a tool without a mapping passes the response on, with its key in a custom header', async () => {
  const body = answered(await call('plain.raw', { url: 'https://mock.invalid/' }))
  assert.equal((body['output'] as { data: { title: string } }).data.title, 'A page')
})

const REFUSED: [name: string, id: string, input: unknown, status: number, code: string, param?: string][] = [
  ['an unknown tool', 'web.none', { query: 'x' }, 404, 'tool_not_found'],
  ['a disabled tool', 'web.off', { query: 'x' }, 409, 'tool_unavailable'],
  ['a disabled tool, whatever the input', 'web.off', { nonsense: 1 }, 409, 'tool_unavailable'],
  ['a tool without its key', 'web.keyless', { query: 'x' }, 409, 'tool_unavailable'],
  ['a missing member', 'web.search', { provider: OPTED_IN }, 400, 'tool_input_invalid', 'query'],
  ['a member of the wrong type', 'web.search', { query: 7 }, 400, 'tool_input_invalid', 'query'],
  ['an unknown member', 'web.search', { query: 'x', depth: 2 }, 400, 'tool_input_invalid', 'depth'],
  ['too many results', 'web.search', { query: 'x', count: 11 }, 400, 'tool_input_invalid', 'count'],
  ['a list', 'web.search', [], 400, 'tool_input_invalid'],
  ['no JSON', 'web.search', '{"query": x}', 400, 'tool_input_invalid'],
  ['half a body', 'web.search', '{"query": "x', 400, 'body_incomplete'],
  ['a strange opt-in', 'web.search', { query: 'x', provider: { allow_retention: 'yes' } }, 400, 'tool_input_invalid'],
  ['a price bound', 'web.search', { query: 'x', provider: { max_price: { prompt: 1 } } }, 400, 'max_price_unsupported'],
  ['no opt-in', 'web.search', { query: 'x' }, 409, 'retention_required', 'provider.allow_retention'],
  ['an opt-out', 'web.search', { query: 'x', provider: { allow_retention: false } }, 409, 'retention_required'],
]

for (const [name, id, input, status, code, param] of REFUSED) {
  test(`rejected before any hold: ${name}`, async () => {
    const reply = await call(id, input)
    const error = assertError(reply, status, code, param)
    assert.equal(error.type, 'invalid_request_error')
    await assertNothingRan(reply)
  })
}

test('a body that is too large is rejected', async () => {
  const reply = await search('x'.repeat(5_000))
  assert.equal(reply.status, 413)
  await assertNothingRan(reply)
})

test('a call needs a key', async () => {
  assertError(await call('web.search', { query: 'x' }, {}, ''), 401, 'invalid_api_key')
  const session = await api(stack.baseUrl, 'POST', '/v1/tools/web.search', { token: owner.token, body: { query: 'x' } })
  assert.equal(session.status, 403)
})

test('tools are not sold per request', async () => {
  const reply = await api(stack.baseUrl, 'POST', '/x402/v1/tools/web.search', { body: { query: 'x' } })
  assert.equal(reply.status, 404)
})

const PRIVATE = [
  'http://127.0.0.1/',
  'http://10.1.2.3/',
  'https://192.168.0.1:8443/x',
  'http://169.254.169.254/latest/meta-data',
  'http://[::1]/',
  'http://[fe80::1]/',
  'http://[fd00::1]/',
  'http://[::ffff:127.0.0.1]/',
  'http://0x7f.1/',
  'http://2130706433/',
  'http://127.1/',
  'http://0.0.0.0/',
  'http://100.64.0.1/',
  'http://localhost/',
  'http://LOCALHOST./',
  'http://printer/',
  'http://api.internal/',
  'http://nas.local/',
  'http://user:pw@example.com/',
  'file:///etc/passwd',
  'ftp://example.com/',
  'gopher://example.com/',
  'http://[64:ff9b::7f00:1]/',
]
for (const url of PRIVATE) {
  test(`no page of a private network: ${url}`, async () => {
    const reply = await call('web.scrape', { url, provider: OPTED_IN })
    assertError(reply, 400, 'tool_input_invalid', 'url')
    await assertNothingRan(reply)
  })
}

test('a page that redirected to a private address is not returned, and is charged as the upstream billed', async () => {
  const reply = await call('web.moved', { url: 'https://93.184.215.14/', provider: OPTED_IN })
  assertError(reply, 502, 'tool_upstream_error')
  assert.doesNotMatch(reply.text, /What https/)
  assert.equal(reply.headers.get('x-cost-units'), String(SCRAPE.cost))
})

test('retention may be allowed for the key or for the account, and a request may disallow it', async () => {
  const keyed = await newKey('--allow-retention')
  answered(await call('web.search', { query: 'x' }, {}, keyed))
  const back = await call('web.search', { query: 'x', provider: { allow_retention: false } }, {}, keyed)
  assertError(back, 409, 'retention_required')
  const other = await stack.createAccount()
  assertError(await call('web.search', { query: 'x' }, {}, other.apiKey), 409, 'retention_required')
  assert.equal((await stack.cli('account', 'update', other.accountId, '--allow-retention')).code, 0)
  const again = await stack.cli('key', 'create', other.accountId, '--name', 'later')
  answered(await call('web.search', { query: 'x' }, {}, (again.json as { api_key: string }).api_key))
})

test('the privacy mode of a key excludes only tools that keep records', async () => {
  const noLogs = await newKey('--no-logs')
  assertError(await search('x', {}, noLogs), 409, 'retention_required')
  answered(await call('web.traceless', { query: 'x' }, {}, noLogs))
})

test('only the input of the client reaches the upstream', async () => {
  const body = answered(await call('web.traceless', { query: 'a "quote"\n{query}', language: 'de' }))
  const [first] = (body['output'] as { results: { snippet: string }[] }).results
  const sent = { model: 'mock,echo', q: 'a "quote"\n{query}', num: 3, lang: 'de' }
  assert.deepEqual(JSON.parse(first?.snippet ?? ''), sent)
})

test('a key with a tool allowlist cannot use other tools', async () => {
  const bound = await newKey('--tool', 'web.scrape', '--allow-retention')
  assertError(await call('web.search', { query: 'x' }, {}, bound), 403, 'tool_not_allowed')
  answered(await call('web.scrape', { url: 'https://93.184.215.14/' }, {}, bound))
})

test('caps and balance apply to tools', async () => {
  const capped = await newKey('--cap-day', '0.002', '--allow-retention')
  answered(await call('web.search', { query: 'x', count: 1 }, {}, capped))
  assertError(await call('web.search', { query: 'x', count: 10 }, {}, capped), 402, 'spend_limit_exceeded')
  const poor = await stack.createAccount({ credits: '0.001' })
  assertError(await search('x', {}, poor.apiKey), 402, 'insufficient_balance')
})

test("an agent's tool allowlist, cap and approval threshold apply", async () => {
  const { token } = owner
  const policy = { slug: 'finder', tools: ['web.search'], request_cap: '0.003', approval_threshold: '0.0015' }
  await apiOk(stack.baseUrl, 'POST', '/v1/agents', { token, body: policy })
  const { api_key: key } = await apiOk<{ api_key: string }>(stack.baseUrl, 'POST', '/v1/agents/finder/key', { token })
  await apiOk(stack.baseUrl, 'POST', '/v1/agents/finder/fund', { token, body: { amount: '1' } })
  assertError(await call('web.scrape', { url: 'https://93.184.215.14/' }, {}, key), 403, 'tool_not_allowed')
  assertError(await search('x', { count: 10 }, key), 402, 'request_cap_exceeded')
  answered(await search('x', { count: 1 }, key))
  const input = { query: 'needs a word', count: 5, provider: OPTED_IN }
  const asked = await call('web.search', input, {}, key)
  assert.equal(asked.status, 202, asked.text)
  const approval = JSON.parse(asked.text) as Record<string, string>
  assert.deepEqual([approval['endpoint'], approval['model']], ['tools', 'web.search'])
  await assertNothingRan(asked)
  await apiOk(stack.baseUrl, 'POST', `/v1/agents/finder/approvals/${approval['id']}/approve`, { token, body: {} })
  answered(await call('web.search', input, { 'x-approval-id': memberOf(approval, 'id') }, key))
  const twice = await call('web.search', input, { 'x-approval-id': memberOf(approval, 'id') }, key)
  assertError(twice, 409, 'approval_used')
})

async function assertNothingRan(reply: Reply): Promise<void> {
  const requestId = reply.headers.get('x-request-id') ?? ''
  assert.deepEqual(servedFor(requestId, await stack.provider.log()), [])
  const receipt = await api(stack.baseUrl, 'GET', `/v1/receipts/${requestId}`, { token: apiKey })
  assert.equal(receipt.status, 404)
}
