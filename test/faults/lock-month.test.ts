// Goal: a series whose month ends in the middle of everything, with control down at that moment, ends exactly once: a request that
// streams burns what it holds, orders expire, coin in escrow returns, a withdrawal on the way is burnt here and there, and what was
// not earned becomes revenue. Method: a whole stack on a real chain; the end of a series is moved close.
import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { api, apiOk, type Json } from '../support/clients/apiClient.ts'
import { chatStream } from '../support/clients/chatClient.ts'
import { issueLock } from '../support/clients/lockClient.ts'
import { coinOf, type Holder } from '../support/clients/moneyClient.ts'
import { LockTokenStack } from '../support/parts/lockTokenStack.ts'
import { EXACT, LOCK_UNITS, type LockReceipt, OUTPUT_TOKENS } from '../support/parts/lockWorld.ts'
import { present } from '../support/present.ts'
import { until } from '../support/until.ts'

const TOKEN = 1_000_000
/** The withdrawal and both orders are made before. */
const ENDS_IN_MS = 30_000
const PRICES = ['--price', '1', '--input', '0.5', '--output', '1', '--supply', '10', '--offer', '0.5']
const BODY = { model: 'test/small', max_tokens: OUTPUT_TOKENS }

let world: LockTokenStack
before(async () => {
  world = await LockTokenStack.start({
    catalog: { models: [{ id: 'test/small', upstream: `${EXACT},ttft=20` }] },
    limits: { catalogCheckMs: 100, keyChangePollMs: 100 },
  })
})
after(() => world.paid.stop())

async function balances(series: string): Promise<Record<string, number>> {
  const found = await world.paid.pool.query<{ id: string; balance: number }>(
    `SELECT split_part(id, ':', 1) AS id, sum(balance)::bigint AS balance FROM ledger_accounts
     WHERE split_part(id, ':', 2) = $1 GROUP BY 1`,
    [series],
  )
  return Object.fromEntries(found.rows.map(({ id, balance }) => [id, balance]))
}

async function stateOf(series: string): Promise<string> {
  return String((await apiOk<Json>(world.url, 'GET', `/v1/locks/series/${series}`))['state'])
}

const order = (holder: Holder, body: Json) =>
  apiOk<Json>(world.url, 'POST', '/v1/locks/orders', { token: holder.token, body })

test('the month ends while a request streams, orders are open, a withdrawal is on the way and control is down', async () => {
  const { stack, chain, pool } = world.paid
  const series = await issueLock(stack, PRICES)
  const endsAtMs = Math.ceil(Date.now() / 1_000) * 1_000 + ENDS_IN_MS
  await pool.query('UPDATE lock_series SET ends_at_ms = $2 WHERE id = $1', [series, endsAtMs])
  const holder = await world.buyer(series, '4')
  const [coin] = await coinOf(world.paid, holder)
  const sent = await world.withdraw(holder, series, '1')
  assert.equal(sent.status, 202, sent.text)
  await until('a token is on the chain', async () => (await world.onChain(holder, series)) === TOKEN)
  await chain.client.setAutomine(false)
  const late = await world.withdraw(holder, series, '1')
  assert.equal(late.status, 202, late.text)
  const bid = await order(holder, { series, side: 'buy', type: 'limit', tokens: '2', price: '0.01' })
  const ask = await order(holder, { series, side: 'sell', type: 'limit', tokens: '0.5', price: '9' })
  assert.deepEqual(await coinOf(world.paid, holder), [coin - 0.02, coin - 0.02])

  await stack.provider.hold()
  const call = chatStream(world.url, holder.apiKey, BODY)
  await until('the provider works on it', async () => (await stack.provider.open()) > 0)
  assert.ok(Date.now() < endsAtMs, 'all of this was in time')
  await stack.control.kill9()
  await until('the month is over', () => Date.now() > endsAtMs)
  await stack.control.start()

  await until('all but what is held has burnt', async () => (await balances(series))['lock'] === LOCK_UNITS)
  assert.equal(await stateOf(series), 'ended')
  const left = await balances(series)
  assert.deepEqual([left['lock_escrow'], left['lock_onchain'], left['lock_issued']], [0, 0, -LOCK_UNITS])
  await until('coin in escrow is free again', async () => (await coinOf(world.paid, holder))[1] === coin)
  const { token } = holder
  for (const { id } of [bid, ask]) {
    assert.equal((await api(world.url, 'POST', `/v1/locks/orders/${id}/cancel`, { token, body: {} })).status, 409)
  }

  await stack.provider.release()
  const receipt = present((await call).receipt ?? undefined) as LockReceipt
  assert.deepEqual([receipt.lock?.series, receipt.lock?.units, receipt.cost.units], [series, String(LOCK_UNITS), '0'])
  await stack.settled()
  await until('the series is closed', async () => (await stateOf(series)) === 'closed')
  assert.ok(Object.values(await balances(series)).every((balance) => balance === 0))

  await chain.client.setAutomine(true)
  await chain.client.mine({ blocks: 10 })
  const status = async () => (await world.withdrawals(holder))[0]?.status
  await until('the late withdrawal is expired', async () => (await status()) === 'expired')
  assert.equal(await world.onChain(holder, series), 0)
  await world.paid.mended()
})
