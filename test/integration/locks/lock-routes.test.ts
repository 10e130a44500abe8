// Goal: compute locks over HTTP: rules and books, quotes, orders of every kind, their refusals, idempotency, statements, the
// command line, and the end of the month. Method: one stack with short series, and the audit at the end.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import pg from 'pg'
import { api, apiOk, assertRefused, type Json, newOwner, type Owner } from '../../support/clients/apiClient.ts'
import { issueLock, type OrderAnswer, ownLocks, tokensOf } from '../../support/clients/lockClient.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { type TestModel, testCatalog } from '../../support/testCatalog.ts'

let stack: Stack
let url: string
let one: Owner
let two: Owner
let series: string

before(async () => {
  const limits = { lockSeriesCheckMs: 100, grantSweepMs: 100, lockOrdersOpenMax: 2 }
  const rates = { apiRequestBurst: 10_000, apiRequestsPerMinute: 600_000 }
  // Orders at the same time wait for each other.
  stack = await startStack({ limits: { ...limits, ...rates, apiTimeoutMs: 60_000, rpcTimeoutMs: 60_000 } })
  url = stack.baseUrl
  one = await newOwner(stack, { coin: '100' })
  two = await newOwner(stack, { coin: '100' })
  series = await issueLock(stack, ['--taker-fee', '1'])
})
after(() => stack.finish())

const order = (owner: Owner, body: Json, idempotencyKey?: string) =>
  api<OrderAnswer & Json>(url, 'POST', '/v1/locks/orders', {
    token: owner.token,
    body: { series, ...body },
    ...(idempotencyKey !== undefined && { headers: { 'idempotency-key': idempotencyKey } }),
  })
/** A catalog of these models, as a file. */
function catalogFile(name: string, models: readonly TestModel[]): string {
  const path = join(stack.dir, name)
  writeFileSync(path, testCatalog(stack.provider.url(), { models }))
  return path
}
const coinOf = async (owner: Owner) =>
  (await apiOk<{ balance: { coin: string } }>(url, 'GET', '/v1/account', { token: owner.token })).balance.coin

test('rules and series are public; books need a credential', async () => {
  const open = await apiOk<{ rules: Json; data: Json[] }>(url, 'GET', '/v1/locks')
  assert.equal(open.rules['lot'], '0.001000')
  const [shown] = open.data
  assert.deepEqual(
    [shown?.['id'], shown?.['model'], shown?.['provider'], shown?.['supply'], shown?.['taker_fee_ppm']],
    [series, 'test/small', 'mock', '1000.000000', 10_000],
  )
  assert.deepEqual(shown?.['locked_price'], { units: '150000000', usd: '0.15' })
  assert.deepEqual(shown?.['price'], { input: '1', output: '2', cached_input: '0.5' })
  assert.equal(shown?.['book'], undefined)
  const known = await apiOk<{ data: Json[] }>(url, 'GET', '/v1/locks', { token: one.apiKey })
  assert.deepEqual(known.data[0]?.['book'], { bids: [], asks: [{ price: '0.1', tokens: '1000.000000' }] })
})

test('a quote prices a buy, and an order with it pays that price, once for any number of retries', async () => {
  const body = { series, tokens: '10' }
  const quote = await apiOk<Json & { total: Json }>(url, 'POST', '/v1/locks/quote', { token: one.token, body })
  assert.deepEqual(quote['depth'], [{ price: '0.1', tokens: '10.000000' }])
  assert.deepEqual([quote['average_price'], quote.total['coin']], ['0.1', '1.01'])
  const bought = { side: 'buy', type: 'market', tokens: '10', quote: quote['id'] }
  const answers = await Promise.all([1, 2, 3].map(() => order(one, bought, 'buy-once')))
  for (const { status, text, body: made } of answers) {
    assert.equal(status, 201, text)
    assert.deepEqual([made.status, made.cost.coin, made.fee.coin], ['filled', '1', '0.01'])
  }
  assert.equal(await tokensOf(url, one.token, series), '10.000000')
  assert.equal(await coinOf(one), '98.99')
  assertRefused(await order(two, bought), 404, 'lock_quote_not_found', 'quote')
  assertRefused(await order(one, bought), 404, 'lock_quote_not_found', 'quote')
  assert.equal(await coinOf(one), '98.99', 'an order that was sent again without an Idempotency-Key bought twice')
})

test('an order for other tokens than those of its quote is refused, and the quote stays', async () => {
  const body = { series, tokens: '1' }
  const quote = await apiOk<Json>(url, 'POST', '/v1/locks/quote', { token: two.token, body })
  for (const _ of [1, 2]) {
    const refused = await order(two, { side: 'buy', type: 'market', tokens: '1.5', quote: quote['id'] })
    assertRefused(refused, 400, null, 'quote')
    assert.match(refused.text, /1\.000000 tokens of lock_/)
  }
})

test('limit orders rest, are filled in order of time, and release their escrow', async () => {
  const ask = await order(one, { side: 'sell', type: 'limit', tokens: '4', price: '0.09' })
  assert.equal(ask.status, 201, ask.text)
  assert.deepEqual([ask.body.status, ask.body.in_escrow.tokens], ['open', '4.000000'])
  assertRefused(await order(one, { side: 'buy', type: 'market', tokens: '1' }), 409, 'lock_self_trade')
  const bought = await order(two, { side: 'buy', type: 'limit', tokens: '5', price: '0.09' })
  assert.deepEqual([bought.body.status, bought.body.filled, bought.body.in_escrow.coin], ['open', '4.000000', '0.09'])
  assert.equal(await coinOf(one), '99.35')
  assert.equal(await coinOf(two), '99.5464')
  const sold = await order(one, { side: 'sell', type: 'market', tokens: '2' })
  assert.deepEqual([sold.body.status, sold.body.filled], ['cancelled', '1.000000'])
  assert.deepEqual(
    [await tokensOf(url, one.token, series), await tokensOf(url, two.token, series)],
    ['5.000000', '5.000000'],
  )
  assertRefused(await order(one, { side: 'sell', type: 'market', tokens: '2' }), 409, 'lock_no_offer')
  const bid = await order(two, { side: 'buy', type: 'limit', tokens: '10', price: '0.05' })
  const path = `/v1/locks/orders/${bid.body.id}/cancel`
  assertRefused(await api(url, 'POST', path, { token: one.token, body: {} }), 403, 'permission_denied')
  const cancelled = await apiOk<OrderAnswer>(url, 'POST', path, { token: two.token, body: {} })
  assert.deepEqual([cancelled.status, cancelled.in_escrow.coin], ['cancelled', '0'])
  assertRefused(await api(url, 'POST', path, { token: two.token, body: {} }), 409, 'lock_order_ended')
  assert.equal(await coinOf(two), '99.5464')
})

test('an order with a quote is rejected once the quoted price is gone', async () => {
  const ask = await order(one, { side: 'sell', type: 'limit', tokens: '1', price: '0.09' })
  const body = { series, tokens: '1' }
  const quote = await apiOk<Json>(url, 'POST', '/v1/locks/quote', { token: two.token, body })
  await apiOk(url, 'POST', `/v1/locks/orders/${ask.body.id}/cancel`, { token: one.token, body: {} })
  const coin = await coinOf(two)
  const bought = await order(two, { side: 'buy', type: 'market', tokens: '1', quote: quote['id'] })
  assertRefused(bought, 409, 'lock_price_moved')
  assert.equal(await coinOf(two), coin)
})

test('invalid orders are rejected with the reason', async () => {
  const limit = { side: 'buy', type: 'limit', tokens: '1', price: '0.01' }
  assertRefused(await order(one, { ...limit, tokens: '0.0001' }), 400, null, 'tokens')
  assertRefused(await order(one, { ...limit, tokens: '0' }), 400, null, 'tokens')
  assertRefused(await order(one, { ...limit, price: '0.0000001' }), 400, null, 'price')
  assertRefused(await order(one, { ...limit, type: 'market' }), 400, null, 'price')
  assertRefused(await order(one, { side: 'buy', type: 'limit', tokens: '1' }), 400, null, 'price')
  assertRefused(await order(one, { ...limit, tokens: '9999999999', price: '9999999999' }), 400, null, 'tokens')
  assertRefused(await order(one, { ...limit, tokens: '9000', price: '0.05' }), 402, 'insufficient_balance')
  assertRefused(await order(one, { side: 'sell', type: 'limit', tokens: '6', price: '1' }), 402, 'insufficient_balance')
  const none = 'lock_0123456789ABCDEFGHJKMNPQRS'
  assertRefused(await order(one, { ...limit, series: none }), 404, 'lock_series_not_found')
  const unknown = '/v1/locks/orders/lor_0123456789ABCDEFGHJKMNPQRS/cancel'
  assertRefused(await api(url, 'POST', unknown, { token: one.token, body: {} }), 404, 'lock_order_not_found')
  const body = { series, tokens: '5000' }
  assertRefused(await api(url, 'POST', '/v1/locks/quote', { token: one.token, body }), 409, 'lock_no_offer')
  for (const _ of [1, 2]) assert.equal((await order(one, limit)).status, 201)
  assertRefused(await order(one, limit), 400, null)
  const { data } = (await ownLocks(url, one.token)).orders
  for (const { id, status } of data) {
    if (status === 'open') await apiOk(url, 'POST', `/v1/locks/orders/${id}/cancel`, { token: one.token, body: {} })
  }
})

test('keys with bounds, sub-keys and agents cannot trade', async () => {
  const make = async (path: string, body: Json, token = one.token) =>
    String((await apiOk(url, 'POST', path, { token, body }))['api_key'])
  const body = { series, side: 'buy', type: 'market', tokens: '1' }
  const platform = await make('/v1/account/keys', { platform: true })
  const subKey = await make('/v1/platform/keys', {}, platform)
  const bounded = await make('/v1/account/keys', { caps: { hour: '1' } })
  await apiOk(url, 'POST', '/v1/agents', { token: one.token, body: { slug: 'trader' } })
  const agent = await make('/v1/agents/trader/key', {})
  for (const token of [subKey, bounded, agent]) {
    assertRefused(await api(url, 'POST', '/v1/locks/orders', { token, body }), 403, 'permission_denied')
  }
  assertRefused(await api(url, 'GET', '/v1/locks/mine', { token: subKey }), 403, 'permission_denied')
  assert.equal((await api(url, 'GET', '/v1/locks/mine', { token: bounded })).status, 200)
  const answer = await api(url, 'POST', '/v1/locks/orders', { token: platform, body })
  assert.equal(answer.status, 201, answer.text)
})

test('concurrent orders of both sides preserve all coin and tokens', async () => {
  const before = Number(await tokensOf(url, one.token, series)) + Number(await tokensOf(url, two.token, series))
  const bodies = Array.from({ length: 24 }, (_, i) => ({
    side: i % 2 === 0 ? 'buy' : 'sell',
    type: i % 3 === 0 ? 'market' : 'limit',
    tokens: '0.5',
    ...(i % 3 !== 0 && { price: `0.0${5 + (i % 4)}` }),
  }))
  const answers = await Promise.all(bodies.map((body, i) => order(i % 4 < 2 ? one : two, body)))
  for (const { status, text } of answers) assert.ok([201, 400, 402, 409].includes(status), text)
  for (const owner of [one, two]) {
    for (const { id, status } of (await ownLocks(url, owner.token)).orders.data) {
      if (status === 'open') await apiOk(url, 'POST', `/v1/locks/orders/${id}/cancel`, { token: owner.token, body: {} })
    }
  }
  const bought = await stack.cli('lock', 'show', series)
  const left = Number((bought.json as { book: { asks: { tokens: string }[] } }).book.asks[0]?.tokens)
  const now = Number(await tokensOf(url, one.token, series)) + Number(await tokensOf(url, two.token, series))
  assert.equal(now - before, 1_000 - 11 - left)
  await stack.audit()
})

test('limit orders have a smallest value, and a quote says what one order can buy', async () => {
  const small = { side: 'buy', type: 'limit', tokens: '0.999', price: '0.01' }
  assertRefused(await order(one, small), 409, 'below_minimum', 'tokens')
  assertRefused(
    await order(one, { ...small, side: 'sell', tokens: '0.1', price: '0.09' }),
    409,
    'below_minimum',
    'tokens',
  )
  const rules = (await apiOk<{ rules: Json }>(url, 'GET', '/v1/locks')).rules
  assert.equal(rules['limit_order_usd_min'], '0.01')
  const asked = (tokens: string) =>
    api<Json>(url, 'POST', '/v1/locks/quote', { token: two.token, body: { series, tokens } })
  const [fillable] = [String((await asked('1')).body['fillable'])]
  const refused = await asked('1000')
  assertRefused(refused, 409, 'lock_no_offer', 'tokens')
  assert.ok(refused.text.includes(`can buy ${fillable} tokens`), refused.text)
  assert.equal((await asked(fillable)).status, 200)
})

test('a series without a route is unavailable and not for sale; publishing without its model needs a reason', async () => {
  const shown = async (credential = {}) =>
    (await apiOk<{ data: Json[] }>(url, 'GET', '/v1/locks', credential)).data.find((entry) => entry['id'] === series)
  const bid = await order(two, { side: 'buy', type: 'limit', tokens: '1', price: '0.02' })
  await stack.cli('route', 'disable', 'mock/*', '--reason', 'slow')
  assert.deepEqual([(await shown())?.['state']], ['unavailable'])
  assert.match(String((await shown())?.['unavailable']), /no route of test\/small that is enabled goes to mock/)
  const body = { series, tokens: '1' }
  assertRefused(await api(url, 'POST', '/v1/locks/quote', { token: two.token, body }), 409, 'lock_series_unavailable')
  assertRefused(await order(two, { side: 'buy', type: 'market', tokens: '1' }), 409, 'lock_series_unavailable')
  assertRefused(await order(one, { side: 'sell', type: 'market', tokens: '1' }), 409, 'lock_series_unavailable')
  const { holdings } = await apiOk<{ holdings: Json[] }>(url, 'GET', '/v1/locks/mine', { token: one.token })
  assert.equal(holdings.find((held) => held['series'] === series)?.['state'], 'unavailable')
  await apiOk(url, 'POST', `/v1/locks/orders/${bid.body.id}/cancel`, { token: two.token, body: {} })
  await stack.cli('route', 'enable', 'mock/*')
  assert.equal((await shown())?.['state'], 'open')

  const without = catalogFile('without.json', [{ id: 'test/other' }])
  for (const command of ['check', 'publish']) {
    const refused = await stack.command(['catalog', command, without])
    assert.equal(refused.code, 1)
    assert.match(refused.stdout, new RegExp(`test/small: the catalog has no model test/small: compute lock ${series} `))
  }
  assert.equal((await shown())?.['state'], 'open')
})

test('lock issue reads the catalog in force, not a file', async () => {
  const more = catalogFile('more.json', [{ id: 'test/small' }, { id: 'test/more' }])
  const issue = [
    'lock',
    'issue',
    'test/more',
    '--provider',
    'mock',
    '--price',
    '0.15',
    '--supply',
    '1',
    '--offer',
    '0.1',
  ]
  assert.match((await stack.command(issue)).stderr, /the catalog has no model test\/more, by the catalog in force/)
  assert.equal((await stack.cli('catalog', 'publish', more)).code, 0)
  const issued = await stack.command(issue)
  assert.equal(issued.code, 0, issued.stderr)
})

test('statements list the coin of orders, and the activity lists the orders', async () => {
  const { data } = await apiOk<{ data: Json[] }>(url, 'GET', '/v1/account/activity', { token: two.token })
  const types = new Set(data.map((entry) => entry['type']))
  for (const type of ['lock.order_placed', 'lock.order_filled', 'lock.order_cancelled'])
    assert.ok(types.has(type), type)
  const listed = await stack.cli('lock', 'list')
  assert.deepEqual(
    (listed.json as { data: Json[] }).data.map((entry) => entry['model']),
    ['test/more', 'test/small'],
  )
})

test('the end of the month releases bids, burns remaining tokens, and closes the series', async () => {
  const short = await issueLock(stack, ['--supply', '5'])
  const database = new pg.Client(stack.databaseUrl)
  await database.connect()
  // Before the first order, because tokens keep the end that they were bought with.
  const ended = Date.now() + 30_000
  await database.query('UPDATE lock_series SET ends_at_ms = $2 WHERE id = $1', [short, ended])
  const coin = await coinOf(one)
  assert.equal((await order(one, { series: short, side: 'buy', type: 'market', tokens: '3' })).status, 201)
  assert.equal(
    (await order(one, { series: short, side: 'sell', type: 'limit', tokens: '1', price: '0.2' })).status,
    201,
  )
  const bid = await order(one, { series: short, side: 'buy', type: 'limit', tokens: '2', price: '0.05' })
  assert.equal(bid.body.status, 'open')
  const state = async () =>
    (await database.query('SELECT state FROM lock_series WHERE id = $1', [short])).rows[0]?.['state']
  await until('the series is closed', async () => (await state()) === 'closed')
  assert.ok(Date.now() >= ended)
  await database.end()
  assertRefused(await order(one, { series: short, side: 'buy', type: 'market', tokens: '1' }), 409, 'lock_series_ended')
  assert.equal(await tokensOf(url, one.token, short), '0.000000')
  assert.equal(Number(await coinOf(one)).toFixed(9), (Number(coin) - 0.3).toFixed(9))
  const statuses = (await ownLocks(url, one.token)).orders.data.slice(0, 2).map(({ status }) => status)
  assert.deepEqual(statuses, ['expired', 'expired'])
})
