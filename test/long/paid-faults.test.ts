import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { FUNDS, type Payer } from '../support/chain.ts'
import type { Reply } from '../support/clients/chatClient.ts'
import { codeOf, HELLO, payFor, paymentHeader, post, quote } from '../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'
import { present } from '../support/present.ts'
import { until } from '../support/stack.ts'
import { childrenOf } from '../support/workload.ts'

let paid: PaidStack

before(async () => {
  paid = await startPaidStack({
    limits: { paymentTimeoutMs: 4_000, heartbeatTimeoutMs: 3_000 },
    catalog: { models: [{ id: 'test/small' }, { id: 'test/slow', upstream: 'slow,chunks=100,delay=100' }] },
  })
})
afterEach(() => paid.mended())
after(() => paid.stop())

const count = async (sql: string, ...values: unknown[]): Promise<number> =>
  (await paid.pool.query<{ count: number }>(sql, values)).rows[0]?.count ?? -1
const claims = (payer: Payer) => count('SELECT count(*) FROM payments WHERE payer = $1', payer.address.toLowerCase())

/** Begins a paid request, whose answer is undefined when its connection breaks. */
async function begin(payer: Payer, body: object = HELLO): Promise<{ reply: Promise<Reply | undefined> }> {
  const header = paymentHeader(await payFor(await quote(paid, body), payer))
  return { reply: post(paid, body, header).catch(() => undefined) }
}

async function assertOnce(payer: Payer): Promise<void> {
  await paid.audited()
  const mined = await count(
    `SELECT count(*) FROM chain_transactions t WHERE purpose = 'payment' AND state = 'mined' AND transfer_from = $1`,
    payer.address.toLowerCase(),
  )
  assert.equal(mined, 1)
}

test('control is killed between the claim and the block: the client gets an error and a full refund', async () => {
  const payer = await paid.chain.newPayer()
  await paid.chain.client.setAutomine(false)
  const { reply } = await begin(payer)
  await until('it is claimed', async () => (await claims(payer)) === 1)
  await paid.stack.control.kill9()
  await paid.chain.client.mine({ blocks: 1 })
  await paid.chain.client.setAutomine(true)
  const answer = await reply
  assert.ok(answer)
  assert.equal(codeOf(answer), 'settlement_unconfirmed')
  assert.equal(answer.status, 502)
  assert.equal(answer.headers.get('x-should-retry'), 'false')
  await paid.stack.control.start()
  await assertOnce(payer)
  assert.equal(await paid.has('stablecoin', payer), FUNDS)
})

test('control is killed before it could send: the next one sends, and refunds in full', async () => {
  const payer = await paid.chain.newPayer()
  paid.rpc.refused.add('eth_sendRawTransaction')
  const { reply } = await begin(payer)
  await until('it is claimed', async () => (await claims(payer)) === 1)
  await paid.stack.control.kill9()
  paid.rpc.refused.clear()
  await paid.stack.control.start()
  await reply
  await assertOnce(payer)
  assert.equal(await paid.has('stablecoin', payer), FUNDS)
})

test('control is killed while a paid stream runs: it ends and is charged', async () => {
  const payer = await paid.chain.newPayer()
  const { reply } = await begin(payer, { ...HELLO, model: 'test/slow', stream: true })
  await until('it is held', async () => (await count('SELECT count(*) FROM payments WHERE held')) > 0)
  await until(
    'the provider is asked',
    async () => (await paid.stack.withRedis((redis) => redis.keys('holds:*'))).length > 0,
  )
  await paid.stack.control.kill9()
  await paid.stack.control.start()
  const answer = await reply
  assert.ok(answer?.text.includes('"status":"ok"'), answer?.text.slice(-500))
  await assertOnce(payer)
  assert.ok((await paid.has('stablecoin', payer)) < FUNDS)
})

test('the worker of the proxy is killed while a paid stream runs: the payment is refunded in full', async () => {
  const payer = await paid.chain.newPayer()
  const { reply } = await begin(payer, { ...HELLO, model: 'test/slow', stream: true })
  await until('it is held', async () => (await paid.stack.withRedis((redis) => redis.keys('holds:*'))).length > 0)
  const pid = paid.stack.proxy.pid
  assert.ok(pid !== undefined)
  const [worker] = childrenOf(pid)
  process.kill(present(worker), 'SIGKILL')
  await reply
  await until('a new worker runs', () => childrenOf(pid).some((child) => child !== worker))
  await paid.stack.ready()
  await assertOnce(payer)
  assert.equal(await paid.has('stablecoin', payer), FUNDS)
})

test('control is down: 503, and no payment is taken', async () => {
  const payer = await paid.chain.newPayer()
  const header = paymentHeader(await payFor(await quote(paid), payer))
  await paid.stack.control.sigterm()
  const answer = await post(paid, HELLO, header)
  assert.ok([502, 503].includes(answer.status), answer.text)
  await paid.stack.control.start()
  await until('payments are taken again', async () => codeOf(await post(paid, HELLO, header)) === 'paid')
  assert.equal(await claims(payer), 1)
  await assertOnce(payer)
})

test('a stop of control lets payments in progress end, and others are processed later', async () => {
  const payer = await paid.chain.newPayer()
  await paid.chain.client.setAutomine(false)
  const { reply } = await begin(payer)
  await until('it is claimed', async () => (await claims(payer)) === 1)
  const stopping = paid.stack.control.sigterm()
  await paid.chain.client.mine({ blocks: 1 })
  await stopping
  const answer = await reply
  assert.ok(answer)
  const code = codeOf(answer)
  await paid.chain.client.setAutomine(true)
  await paid.stack.control.start()
  await assertOnce(payer)
  const has = await paid.has('stablecoin', payer)
  assert.ok(code === 'paid' ? has < FUNDS : has === FUNDS, `${code}: ${has}`)
})

test('Redis is lost while a payment settles: it is served or refunded, once', async () => {
  const payer = await paid.chain.newPayer()
  await paid.chain.client.setAutomine(false)
  const { reply } = await begin(payer)
  await until('it is claimed', async () => (await claims(payer)) === 1)
  await paid.stack.redis.kill9()
  await paid.chain.client.mine({ blocks: 1 })
  await paid.stack.redis.restart()
  await paid.chain.client.setAutomine(true)
  const answer = await reply
  await paid.stack.ready()
  await assertOnce(payer)
  const has = await paid.has('stablecoin', payer)
  assert.ok(answer !== undefined && codeOf(answer) === 'paid' ? has < FUNDS : has === FUNDS)
})
