// Goal: whatever order things happen in on the chain and between controls, each transfer is counted for one purpose, once,
// and nobody's money stays without one. Method: control's side of payments on a real chain, and a node that lags.

import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { type Hex, parseGwei } from 'viem'
import { runAudit } from '../../control/audit/runAudit.ts'
import { settlementCall } from '../../control/chain/settlementCall.ts'
import { DEMO_TOKEN_ABI } from '../../control/launch/chain/deploy.ts'
import type { PaymentOrder } from '../../control/products/payments/x402/paymentOrder.ts'
import { FUNDS, type Payer } from '../support/chain.ts'
import { paymentRaceLimits as limits } from '../support/limits.ts'
import { pausing } from '../support/parts/faultyPool.ts'
import { until } from '../support/parts/ledger.ts'
import { AMOUNT, type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'

const UNITS = 2_000_000
const SHORT_MS = 400
/** Runtime code that reverts whatever is called. */
const REVERTS = '0x5f5ffd'
let bench: PaymentBench

before(async () => {
  bench = await startPaymentBench({ finalBlocks: 5 }, limits)
  // So that refunds can be sent whatever the chain takes back.
  await bench.chain.fillTreasury()
})
afterEach(() => bench.mended())
after(() => bench.stop())

const booked = (kind: string, order: PaymentOrder) =>
  bench.scalar<number>(
    `SELECT coalesce(sum(units), 0)::bigint FROM transfers WHERE kind = $1 AND split_part(ref, ':', 1) = $2`,
    kind,
    order.requestId,
  )

/** The same payment by a transaction of the payer. */
function byTransaction(order: PaymentOrder, hash: Hex): PaymentOrder {
  const transaction = { hash, raw: undefined }
  return { ...order, payment: undefined, transaction, replayKey: `transaction:${bench.chain.chainId}:${hash}` }
}

/** The transaction by which somebody else sends what a payer has signed. */
async function foreignRaw(order: PaymentOrder): Promise<Hex> {
  assert.ok(order.payment)
  const sender = await bench.chain.newPayer({ approve: false })
  return sender.signTransaction({
    type: 'eip1559',
    chainId: bench.chain.chainId,
    nonce: 0,
    gas: 200_000n,
    ...settlementCall(order.payment),
    maxFeePerGas: parseGwei('100'),
    maxPriorityFeePerGas: parseGwei('1'),
  })
}

test('two control instances find the same failed refund: it is resent once', async () => {
  const [payer, order] = await bench.newOrder()
  await bench.settle(order)
  await bench.chain.client.setAutomine(false)
  await bench.serve(order, 500_000)
  const refund = () => bench.scalar<string | null>('SELECT refund_id FROM payments WHERE id = $1', order.requestId)
  await until('the refund is signed', async () => (await refund()) !== null)
  const id = await refund()
  await until('it is in the pool', async () => (await bench.chain.pooled()).length > 0)
  const address = bench.chain.contracts.stablecoin
  const code = await bench.chain.client.getCode({ address })
  await bench.chain.client.setCode({ address, bytecode: REVERTS })
  await bench.chain.client.mine({ blocks: 1 })
  await bench.chain.client.setCode({ address, bytecode: code ?? '0x' })
  await until('it has failed', async () => (await bench.transactionState(`${id}#1`)) === 'reverted')
  await bench.payments.stop(0)
  await bench.chain.client.mine({ blocks: 6 })
  let isLate = false
  const pool = pausing(bench.book.pool, /SELECT id FROM refunds/, async () => {
    bench.payments = bench.startPayments()
    await until('the other one has sent it', async () => {
      const attempts = await bench.scalar<number>('SELECT attempts FROM refunds WHERE id = $1', id)
      return attempts === 2 && (await bench.chain.pooled()).length === 1
    })
    await until('the other one has done its pass', async () => {
      return (
        (await bench.scalar<number>(
          `SELECT count(*) FROM pg_locks WHERE locktype = 'advisory' AND objid = 7204041`,
        )) === 0
      )
    })
    isLate = true
  })
  const late = bench.startPayments({}, { pool })
  try {
    await until('the late one goes on', async () => isLate)
  } finally {
    await late.stop(1_000)
  }
  await bench.chain.client.setAutomine(true)
  await bench.chain.client.mine({ blocks: 1 })
  await bench.settled()
  const sent = `SELECT count(*) FROM chain_transactions WHERE purpose = 'refund' AND ref LIKE $1 AND state = 'mined'`
  assert.equal(await bench.scalar<number>(sent, `${id}#%`), 1)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS - 500n)
})

test('a refund in an unknown state at the node does not delay others', async () => {
  const payers = [await bench.newOrder(), await bench.newOrder(), await bench.newOrder()] as const
  const odd = [payers[0][0], payers[1][0]].map(({ address }) => address.slice(2).toLowerCase())
  const error = { code: -32_000, message: 'invalid opcode: INVALID' }
  const selector = '0xa9059cbb'
  bench.rpc.altered = ({ id, method, params }, answer) => {
    const text = JSON.stringify(params)
    const isOdd = method === 'eth_estimateGas' && text.includes(selector) && odd.some((one) => text.includes(one))
    return isOdd ? { id, error } : answer
  }
  for (const [, order] of payers.slice(0, 2)) await bench.settle(order)
  for (const [, order] of payers.slice(0, 2)) await bench.serve(order, UNITS / 2)
  await until(
    'both are owed',
    async () => (await bench.stateOf(payers[0][1])) === 'closed' && (await bench.stateOf(payers[1][1])) === 'closed',
  )
  await bench.settle(payers[2][1])
  await bench.serve(payers[2][1], UNITS / 2)
  const has = (payer: Payer) => bench.chain.balanceOf('stablecoin', payer.address)
  await until('the last has its own', async () => (await has(payers[2][0])) === FUNDS - AMOUNT / 2n)
  assert.deepEqual([await has(payers[0][0]), await has(payers[1][0])], [FUNDS - AMOUNT, FUNDS - AMOUNT])
  bench.rpc.altered = undefined
})

test('a payer that the token rejects does not delay other refunds', async () => {
  const made = [await bench.newOrder(), await bench.newOrder()].sort(([a], [b]) =>
    a.address.toLowerCase() < b.address.toLowerCase() ? -1 : 1,
  )
  const [refused, other] = made as [[Payer, PaymentOrder], [Payer, PaymentOrder]]
  const wallet = refused[0].address.slice(2).toLowerCase()
  const error = { code: 3, message: 'execution reverted' }
  bench.rpc.altered = ({ id, method, params }, answer) => {
    const text = JSON.stringify(params)
    return method === 'eth_estimateGas' && text.includes('0xa9059cbb') && text.includes(wallet) ? { id, error } : answer
  }
  for (const [, order] of made) {
    await bench.settle(order)
    await bench.serve(order, UNITS / 2)
    await until('it is owed', async () => (await bench.stateOf(order)) === 'closed')
  }
  const has = (payer: Payer) => bench.chain.balanceOf('stablecoin', payer.address)
  await until('the other has its own', async () => (await has(other[0])) === FUNDS - AMOUNT / 2n)
  assert.equal(await has(refused[0]), FUNDS - AMOUNT)
  bench.rpc.altered = undefined
  await bench.restart()
})

test('the audit finds transactions whose transfer differs from their purpose', async () => {
  const [, order] = await bench.newOrder()
  await bench.settle(order)
  await bench.serve(order, UNITS / 2)
  await bench.settled()
  const refund = await bench.scalar<string>('SELECT refund_id FROM payments WHERE id = $1', order.requestId)
  const found = async () =>
    (await runAudit(bench.book.pool, bench.book.redis, limits)).filter((check) => !check.ok).map((check) => check.name)
  const change = (set: string, ref: string) =>
    bench.book.pool.query(`UPDATE chain_transactions SET ${set} WHERE ref = $1`, [ref])
  const [moves, sent] = ['every transaction moves what it is for', 'every refund is sent once']
  const rows: Array<[change: string, undo: string, ref: string, found: string]> = [
    ['amount = amount + 1', 'amount = amount - 1', `${refund}#1`, moves],
    ['transfer_to = token', `transfer_to = '${order.payer}'`, `${refund}#1`, moves],
    ['transfer_from = token', `transfer_from = '${order.payer}'`, order.requestId, moves],
    [`token = transfer_from`, `token = '${order.transfer.token}'`, order.requestId, moves],
    [`state = 'reverted'`, `state = 'mined'`, `${refund}#1`, sent],
  ]
  for (const [set, undo, ref, name] of rows) {
    await change(set, ref)
    assert.deepEqual(await found(), [name], set)
    await change(undo, ref)
  }
})

test('after a reorg the own transaction pays and the foreign one fails: no payment is lost', async () => {
  const [payer, order] = await bench.newOrder(SHORT_MS)
  const raw = await foreignRaw(order)
  const snapshot = await bench.chain.client.snapshot()
  const block = await bench.chain.client.getBlockNumber()
  bench.rpc.refused.add('eth_sendRawTransaction')
  await assert.rejects(bench.settle(order, SHORT_MS), { code: 'settlement_unconfirmed' })
  await bench.chain.client.sendRawTransaction({ serializedTransaction: raw })
  bench.rpc.refused.clear()
  await until('the foreign one is found', async () => (await bench.stateOf(order)) === 'closed')
  await bench.settled()
  await bench.chain.client.revert({ id: snapshot })
  await bench.book.pool.query('UPDATE chain_identity SET scanned_block = $1', [Number(block)])
  await bench.chain.client.mine({ blocks: 1 })
  await until('the own one is first', async () => (await bench.transactionState(order.requestId)) === 'mined')
  await bench.chain.client.sendRawTransaction({ serializedTransaction: raw })
  await until('the foreign one has failed', async () => {
    return (await bench.transactionState(`${order.requestId}:other`)) === 'reverted'
  })
  assert.equal(await booked('pay_in_lost', order), 0)
  await bench.settled()
  assert.equal(await bench.arrived('stablecoin', payer), 1)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS)
})

test('a payment lost in a reorg that is included after all: the house gets its money back', async () => {
  const [payer, order] = await bench.newOrder()
  const snapshot = await bench.chain.client.snapshot()
  const block = await bench.chain.client.getBlockNumber()
  await bench.settle(order)
  await bench.serve(order, UNITS)
  await bench.settled()
  bench.rpc.refused.add('eth_sendRawTransaction')
  await bench.chain.client.revert({ id: snapshot })
  const second = await bench.chain.client.snapshot()
  await bench.chain.transfer('stablecoin', payer, bench.chain.relayer.address, FUNDS)
  await bench.book.pool.query('UPDATE chain_identity SET scanned_block = $1', [Number(block)])
  bench.rpc.refused.clear()
  await until('the loss is booked', async () => (await booked('pay_in_lost', order)) === UNITS)
  await bench.chain.client.revert({ id: second })
  await bench.book.pool.query('UPDATE chain_identity SET scanned_block = $1', [Number(block)])
  await bench.chain.client.mine({ blocks: 1 })
  await until('it is made', async () => (await bench.transactionState(order.requestId)) === 'mined')
  assert.equal(await booked('pay_in_found', order), UNITS)
})

test('a payer replaces its transaction after a reorg: the house bears the loss', async () => {
  const [payer, signed] = await bench.newOrder()
  const snapshot = await bench.chain.client.snapshot()
  const block = await bench.chain.client.getBlockNumber()
  const nonce = await bench.chain.client.getTransactionCount({ address: payer.address })
  const hash = await bench.chain.transfer('stablecoin', payer, bench.chain.treasury.address, AMOUNT)
  const order = byTransaction(signed, hash)
  await bench.settle(order)
  await bench.serve(order, UNITS)
  await bench.settled()
  await bench.chain.client.revert({ id: snapshot })
  await bench.chain.client.sendTransaction({ account: payer, nonce, to: payer.address })
  await bench.book.pool.query('UPDATE chain_identity SET scanned_block = $1', [Number(block)])
  await until('it is given up', async () => (await bench.transactionState(order.requestId)) === 'displaced')
  assert.equal(await booked('pay_in_lost', order), UNITS)
})

test('a payer resends its transfer with a higher fee: it is found, and refunded because it is too late', async () => {
  const [payer, signed] = await bench.newOrder(SHORT_MS)
  await bench.chain.client.setAutomine(false)
  const nonce = await bench.chain.client.getTransactionCount({ address: payer.address })
  const send = (gwei: string) =>
    bench.chain.client.writeContract({
      account: payer,
      address: bench.chain.contracts.stablecoin,
      abi: DEMO_TOKEN_ABI,
      functionName: 'transfer',
      args: [bench.chain.treasury.address, AMOUNT],
      nonce,
      gas: 100_000n,
      maxFeePerGas: parseGwei(gwei),
      maxPriorityFeePerGas: parseGwei(gwei),
    })
  const order = byTransaction(signed, await send('20'))
  await assert.rejects(bench.settle(order, SHORT_MS), { code: 'settlement_unconfirmed' })
  await send('40')
  await bench.chain.client.mine({ blocks: 1 })
  await bench.chain.client.setAutomine(true)
  await until('the first is given up', async () => (await bench.transactionState(order.requestId)) === 'displaced')
  await until('it is decided', async () => (await bench.stateOf(order)) !== 'settling')
  await until('it is known to be paid', async () => (await bench.stateOf(order)) === 'closed')
  await bench.settled()
  assert.equal(await bench.arrived('stablecoin', payer), 1)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS)
})

test('a node that has not read the block of a foreign settlement is queried again', async () => {
  const [payer, order] = await bench.newOrder(SHORT_MS)
  const raw = await foreignRaw(order)
  const old = await bench.chain.client.getBlockNumber()
  bench.rpc.refused.add('eth_sendRawTransaction')
  await assert.rejects(bench.settle(order, SHORT_MS), { code: 'settlement_unconfirmed' })
  let looks = 0
  // Requests for logs reach a node that lags behind the one that receipts come from.
  bench.rpc.altered = ({ method, params }, answer) => {
    const isLook = method === 'eth_getLogs' && JSON.stringify(params).includes(payer.address.slice(2).toLowerCase())
    if (isLook && looks++ < 3) return { ...answer, result: [] }
    if (method === 'eth_blockNumber' && looks < 4) return { ...answer, result: `0x${old.toString(16)}` }
    return answer
  }
  await bench.chain.client.sendRawTransaction({ serializedTransaction: raw })
  bench.rpc.refused.clear()
  await until('it is decided', async () => (await bench.stateOf(order)) === 'closed')
  await bench.settled()
  assert.ok(looks > 3)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS)
})
