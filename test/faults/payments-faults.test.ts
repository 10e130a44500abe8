import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { parseGwei } from 'viem'
import { payerAccountId } from '../../contract/payments/payerAccount.ts'
import type { PaymentOrder } from '../../control/products/payments/x402/paymentOrder.ts'
import { FUNDS, type Payer } from '../support/chain.ts'
import { until } from '../support/parts/ledger.ts'
import { AMOUNT, type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'

const SHORT_MS = 400
let bench: PaymentBench

before(async () => {
  bench = await startPaymentBench({ finalBlocks: 5 })
})
afterEach(async () => {
  bench.rpc.mend()
  await bench.chain.resume()
  await until('what failed in a block is final, and sent again', async () => {
    await bench.chain.client.mine({ blocks: 1 })
    const open = `SELECT (SELECT count(*) FROM refunds WHERE state = 'sending')
      + (SELECT count(*) FROM chain_transactions WHERE state = 'pending')`
    return (await bench.scalar<number>(open)) === 0
  })
  await bench.settled()
  await bench.audit()
})
after(() => bench.stop())

/** The payer paid once and got everything back once. */
async function assertRefunded(payer: Payer, order: PaymentOrder): Promise<void> {
  await bench.settled()
  assert.equal(await bench.stateOf(order), 'closed')
  assert.equal(await bench.arrived('stablecoin', payer), 1)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS)
  const receipts = 'SELECT count(*) FROM receipts WHERE request_id = $1 AND voided'
  assert.equal(await bench.scalar<number>(receipts, order.requestId), 1)
}

async function assertUnconfirmed(order: PaymentOrder): Promise<void> {
  await assert.rejects(bench.settle(order, SHORT_MS), { code: 'settlement_unconfirmed', status: 502 })
}

test('a transfer that lands after its request was abandoned is refunded', async () => {
  const [payer, order] = await bench.newOrder(SHORT_MS)
  await bench.chain.client.setAutomine(false)
  await assertUnconfirmed(order)
  await assert.rejects(bench.settle(bench.again(order), SHORT_MS), { code: 'payment_in_flight' })
  await bench.chain.client.mine({ blocks: 1 })
  await bench.chain.client.setAutomine(true)
  await assertRefunded(payer, order)
  await assert.rejects(bench.settle(bench.again(order)), { code: 'payment_already_resolved', status: 409 })
})

test('control dies between the claim and sending: the next one sends and refunds', async () => {
  const [payer, order] = await bench.newOrder(SHORT_MS)
  bench.rpc.refused.add('eth_sendRawTransaction')
  await assertUnconfirmed(order)
  assert.equal(await bench.arrived('stablecoin', payer), 0)
  await bench.payments.stop(0)
  bench.rpc.refused.clear()
  bench.payments = bench.startPayments()
  await bench.ready()
  await assertRefunded(payer, order)
})

test('control dies between sending and the block: the next one finds the transaction and refunds', async () => {
  const [payer, order] = await bench.newOrder(SHORT_MS)
  await bench.chain.client.setAutomine(false)
  await assertUnconfirmed(order)
  await bench.payments.stop(0)
  await bench.chain.client.setAutomine(true)
  await bench.chain.client.mine({ blocks: 1 })
  bench.payments = bench.startPayments()
  await bench.ready()
  await assertRefunded(payer, order)
})

test('control dies between the credit and the hold: the request is abandoned and refunded', async () => {
  const [payer, order] = await bench.newOrder(SHORT_MS)
  // With admission closed, no hold can be taken.
  const epochs = await bench.book.redis.keys('epoch:*')
  await bench.book.redis.del(...epochs)
  await assertUnconfirmed(order)
  await assertRefunded(payer, order)
})

test('the response to the submission is lost: the request is paid and served', async () => {
  const [payer, order] = await bench.newOrder()
  bench.rpc.lost.add('eth_sendRawTransaction')
  await bench.settle(order)
  bench.rpc.lost.clear()
  await bench.serve(order, 1_500_000)
  await bench.settled()
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS - 1_500n)
})

test('a proxy that dies with a paid request: its hold is voided and the payment is refunded in full', async () => {
  const [payer, order] = await bench.newOrder()
  await bench.settle(order)
  await bench.serve(order, -1)
  await assertRefunded(payer, order)
})

test('a transaction that the node drops is resent', async () => {
  const [payer, order] = await bench.newOrder()
  await bench.chain.client.setAutomine(false)
  const waiting = bench.settle(order)
  await until('it is sent', async () => (await bench.chain.pooled()).length > 0)
  for (const hash of await bench.chain.pooled()) await bench.chain.client.dropTransaction({ hash })
  await until('it is there again', async () => (await bench.chain.pooled()).length > 0)
  await bench.chain.client.mine({ blocks: 1 })
  await waiting
  await bench.chain.client.setAutomine(true)
  await bench.serve(order, 1_000_000)
  await bench.settled()
  assert.equal(await bench.arrived('stablecoin', payer), 1)
})

test('a transaction whose fee is too low is replaced with a higher fee, and executed once', async () => {
  const [payer, order] = await bench.newOrder()
  await bench.chain.client.setAutomine(false)
  const waiting = bench.settle(order)
  await until('it is sent', async () => (await bench.chain.pooled()).length > 0)
  const [first] = await bench.chain.pooled()
  await bench.chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('60') })
  await bench.chain.client.mine({ blocks: 1 })
  assert.equal(await bench.transactionState(order.requestId), 'pending')
  await until('it is replaced', async () => {
    await bench.chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('60') })
    await bench.chain.client.mine({ blocks: 1 })
    return (await bench.transactionState(order.requestId)) === 'mined'
  })
  const { transaction } = await waiting
  assert.notEqual(transaction, first)
  await bench.serve(order, 2_000_000)
  await bench.chain.client.setNextBlockBaseFeePerGas({ baseFeePerGas: parseGwei('1') })
  await bench.chain.client.setAutomine(true)
  await bench.chain.client.mine({ blocks: 1 })
  await bench.settled()
  assert.equal(await bench.arrived('stablecoin', payer), 1)
})

test('after a reorg payment and refund are sent again, once each', async () => {
  const [payer, order] = await bench.newOrder()
  const snapshot = await bench.chain.client.snapshot()
  const block = await bench.chain.client.getBlockNumber()
  await bench.settle(order)
  await bench.serve(order, 500_000)
  await bench.settled()
  const back = FUNDS - AMOUNT + 1_500n
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), back)
  await bench.chain.client.revert({ id: snapshot })
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS)
  // What was read of the blocks that are gone is read again.
  await bench.book.pool.query('UPDATE chain_identity SET scanned_block = $1', [Number(block)])
  await bench.chain.client.mine({ blocks: 1 })
  await until('both are there again', async () => (await bench.chain.balanceOf('stablecoin', payer.address)) === back)
  await bench.settled()
  assert.equal(await bench.arrived('stablecoin', payer), 1)
})

test('the house bears the loss of a payment that cannot be sent again after a reorg', async () => {
  const [payer, order] = await bench.newOrder()
  const snapshot = await bench.chain.client.snapshot()
  const block = await bench.chain.client.getBlockNumber()
  await bench.settle(order)
  await bench.serve(order, 2_000_000)
  await bench.settled()
  await bench.rpc.refused.add('eth_sendRawTransaction')
  await bench.chain.client.revert({ id: snapshot })
  await bench.chain.transfer('stablecoin', payer, bench.chain.relayer.address, FUNDS)
  await bench.book.pool.query('UPDATE chain_identity SET scanned_block = $1', [Number(block)])
  bench.rpc.refused.clear()
  await until('the loss is booked', async () => {
    return (await bench.scalar<number>(`SELECT count(*) FROM transfers WHERE kind = 'pay_in_lost'`)) === 1
  })
  assert.equal(await bench.transactionState(order.requestId), 'reverted')
  const units = await bench.scalar<number>(`SELECT units FROM transfers WHERE kind = 'pay_in_lost'`)
  assert.equal(units, 2_000_000)
  assert.equal(
    await bench.scalar<number>(
      'SELECT balance FROM ledger_accounts WHERE id = $1',
      `coin:${payerAccountId(order.payer)}`,
    ),
    0,
  )
})

test('the node is down for a while during a payment', async () => {
  const [payer, order] = await bench.newOrder()
  await bench.chain.client.setAutomine(false)
  const waiting = bench.settle(order)
  await until('it is sent', async () => (await bench.chain.pooled()).length > 0)
  bench.rpc.down = true
  await bench.chain.client.mine({ blocks: 1 })
  bench.rpc.down = false
  await waiting
  await bench.chain.client.setAutomine(true)
  await bench.serve(order, 1_000_000)
  await bench.settled()
  assert.equal(await bench.arrived('stablecoin', payer), 1)
})

test('two control instances on one book: every payment is settled, refunded and booked once', async () => {
  const second = bench.startPayments()
  try {
    await until('the second is ready', async () => second.service.isReady)
    const orders: Array<[Payer, PaymentOrder]> = []
    for (let i = 0; i < 20; i++) orders.push(await bench.newOrder(20_000))
    const work = orders.map(async ([payer, order], i) => {
      await (i % 2 === 0 ? bench.payments : second).settle(order, 10_000)
      await bench.serve(order, i % 3 === 0 ? -1 : 1_000_000 + i)
      return payer
    })
    const payers = await Promise.all(work)
    await bench.settled()
    for (const payer of payers) assert.equal(await bench.arrived('stablecoin', payer), 1)
  } finally {
    await second.stop(1_000)
  }
})

test('a chain that was restarted from genesis is not the one of the book', async () => {
  await bench.book.pool.query(`UPDATE chain_identity SET genesis_hash = '0x00'`)
  const other = bench.startPayments()
  try {
    const seen = bench.rpc.calls.length
    await until(
      'it has looked',
      async () => bench.rpc.calls.slice(seen).filter((name) => name === 'eth_chainId').length > 1,
    )
    assert.equal(other.service.isReady, false)
    assert.throws(() => other.terms, { code: 'chain_unavailable' })
  } finally {
    await other.stop(0)
    const genesis = await bench.chain.client.getBlock({ blockNumber: 0n })
    await bench.book.pool.query('UPDATE chain_identity SET genesis_hash = $1', [genesis.hash])
  }
})
