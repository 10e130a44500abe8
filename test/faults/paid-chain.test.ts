// Goal: whatever the chain does to a payment, it is served once or refunded once, and the book agrees with the chain.
// Method: a whole stack; the node restarts, drops transactions and takes blocks back.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { FUNDS, type Payer } from '../support/chain.ts'
import type { Reply } from '../support/clients/chatClient.ts'
import { codeOf, HELLO, payFor, paymentHeader, post, quote } from '../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'
import { until } from '../support/stack.ts'

let paid: PaidStack

before(async () => {
  paid = await startPaidStack({
    keepChain: true,
    limits: { paymentTimeoutMs: 6_000, chainCheckMs: 200, pulseIntervalMs: 200 },
    catalog: { models: [{ id: 'test/small' }, { id: 'test/slow', upstream: 'slow,chunks=20,delay=100' }] },
  })
})
afterEach(() => paid.mended())
after(() => paid.stop())

const count = async (sql: string, ...values: unknown[]): Promise<number> =>
  (await paid.pool.query<{ count: number }>(sql, values)).rows[0]?.count ?? -1

async function begin(payer: Payer, body: object = HELLO): Promise<{ reply: Promise<Reply> }> {
  const header = paymentHeader(await payFor(await quote(paid, body), payer))
  return { reply: post(paid, body, header) }
}

/** One transfer was made; it paid for what was served, or all of it has gone back. */
async function assertOnce(payer: Payer, reply: Reply): Promise<void> {
  await paid.audited()
  const code = codeOf(reply)
  assert.ok(code === 'paid' || code === 'settlement_unconfirmed', reply.text)
  const address = payer.address.toLowerCase()
  const mined = `SELECT count(*) FROM chain_transactions WHERE purpose = 'payment' AND state = 'mined' AND transfer_from = $1`
  assert.equal(await count(mined, address), 1)
  const served = `SELECT count(*) FROM payments p JOIN receipts r ON r.request_id = p.id
    WHERE p.payer = $1 AND NOT r.voided AND r.charge_units > 0`
  assert.equal(await count(served, address), code === 'paid' ? 1 : 0)
  const has = await paid.has('stablecoin', payer)
  assert.ok(code === 'paid' ? has < FUNDS : has === FUNDS, `${code}: ${has}`)
}

async function restartNode(): Promise<void> {
  await paid.chain.node.process.stop()
  await paid.chain.node.start()
}

test('/health reports the state of the chain, and its status follows it', async () => {
  type Health = { readonly status: string; readonly chain: string; readonly database: string }
  const becomes = (status: string, chain: string) =>
    until(`health is ${status} with the chain ${chain}`, async () => {
      const reply = await fetch(`${paid.stack.baseUrl}/health`)
      assert.equal(reply.status, 200)
      const seen = (await reply.json()) as Health
      assert.equal(seen.database, 'ok')
      return seen.status === status && seen.chain === chain
    })
  const components = async () => {
    const body = (await (await fetch(`${paid.stack.baseUrl}/v1/status`)).json()) as { components: { name: string }[] }
    return body.components.find(({ name }) => name === 'payments')
  }
  await becomes('ok', 'ok')
  assert.deepEqual(await components(), { name: 'payments', status: 'operational' })
  await paid.chain.node.process.stop()
  await becomes('degraded', 'unavailable')
  assert.deepEqual(await components(), { name: 'payments', status: 'partial_outage' })
  await paid.chain.node.start()
  await becomes('ok', 'ok')
})

test('the node restarts and loses pending transactions: they are sent again, once', async () => {
  const payer = await paid.chain.newPayer()
  await paid.chain.client.setAutomine(false)
  const { reply } = await begin(payer)
  await until('it is in the pool', async () => (await paid.chain.pooled()).length === 1)
  await restartNode()
  await assertOnce(payer, await reply)
})

test('the node restarts while a paid stream runs: it ends, is charged, and the rest is refunded', async () => {
  const payer = await paid.chain.newPayer()
  const { reply } = await begin(payer, { ...HELLO, model: 'test/slow', stream: true })
  await until(
    'it is held',
    async () => (await count(`SELECT count(*) FROM payments WHERE state = 'paid' AND held`)) === 1,
  )
  await restartNode()
  const answer = await reply
  assert.match(answer.text, /^: receipt .*"status":"ok"/m)
  await assertOnce(payer, answer)
})

test('a transaction that the node drops is resent, and its request served', async () => {
  const payer = await paid.chain.newPayer()
  await paid.chain.client.setAutomine(false)
  const { reply } = await begin(payer)
  await until('it is in the pool', async () => (await paid.chain.pooled()).length === 1)
  for (const hash of await paid.chain.pooled()) await paid.chain.client.dropTransaction({ hash })
  await until('it is there again', async () => (await paid.chain.pooled()).length === 1)
  await paid.chain.client.mine({ blocks: 1 })
  const answer = await reply
  assert.equal(codeOf(answer), 'paid')
  // What goes back needs a block, too.
  await paid.chain.client.setAutomine(true)
  await assertOnce(payer, answer)
})

test('after a reorg during the request, the payment is included again, once', async () => {
  const payer = await paid.chain.newPayer()
  const snapshot = await paid.chain.client.snapshot()
  const block = Number(await paid.chain.client.getBlockNumber())
  const { reply } = await begin(payer, { ...HELLO, model: 'test/slow', stream: true })
  await until(
    'it is held',
    async () => (await count(`SELECT count(*) FROM payments WHERE state = 'paid' AND held`)) === 1,
  )
  await paid.chain.client.revert({ id: snapshot })
  assert.equal(await paid.has('stablecoin', payer), FUNDS)
  // What was read of the blocks that are gone is read again.
  await paid.pool.query('UPDATE chain_identity SET scanned_block = $1', [block])
  await paid.chain.client.mine({ blocks: 1 })
  await assertOnce(payer, await reply)
})
