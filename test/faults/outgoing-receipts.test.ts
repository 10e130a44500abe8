// Goal: a withdrawal or refund that was made is not made again because its receipt is missing, and a nonce that a stranger used is
// left to the operator. Method: control's side of payments on a real chain, behind a node that leaves receipts out.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { privateKeyToAccount } from 'viem/accounts'
import type { Address } from '../../contract/payments/address.ts'
import { releaseStuck } from '../../control/chain/stuckTransactions.ts'
import { stuckTransactions } from '../../control/chain/transactionRow.ts'
import { outcomesOf, PRODUCTS } from '../../control/service/products.ts'
import { FUNDS } from '../support/chain.ts'
import { paymentRaceLimits } from '../support/limits.ts'
import { fundedAccount, until } from '../support/parts/ledger.ts'
import { bookWithdrawal } from '../support/parts/outgoingMoney.ts'
import { type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'

const FINAL_BLOCKS = 5
const NANOS = 4_000_000_000
const UNITS = NANOS / 2
const AMOUNT = 2_000_000n

let bench: PaymentBench
before(async () => {
  bench = await startPaymentBench({ finalBlocks: FINAL_BLOCKS }, { ...paymentRaceLimits, withdrawalCheckMs: 50 })
  await bench.chain.fillTreasury()
})
afterEach(() => bench.mended())
after(() => bench.stop())

/** Books a withdrawal to a new wallet. */
async function withdraw(): Promise<{ id: string; wallet: Address }> {
  const accountId = await fundedAccount(bench.book, NANOS)
  const { address } = await bench.chain.newPayer({ stablecoin: 0n, coin: 0n, approve: false })
  const wallet = address.toLowerCase() as Address
  const token = bench.chain.contracts.stablecoin.toLowerCase() as Address
  const row = { accountId, wallet, asset: 'stablecoin', token, amount: AMOUNT, nanos: NANOS, units: UNITS } as const
  return { id: await bookWithdrawal(bench.book.pool, row), wallet }
}

const stateOf = (id: string) => bench.scalar<string>('SELECT state FROM withdrawals WHERE id = $1', id)
const attemptsOf = (id: string) => bench.scalar<number>('SELECT attempts FROM withdrawals WHERE id = $1', id)
const headOf = async () => Number(await bench.chain.client.getBlockNumber())

/** Leaves out the receipts of some blocks. */
function withoutReceipts(isMissing: (block: number) => boolean): void {
  bench.rpc.altered = ({ method }, answer) => {
    const block = (answer.result as { blockNumber?: string } | null | undefined)?.blockNumber
    const isLeftOut = method === 'eth_getTransactionReceipt' && block !== undefined && isMissing(Number(block))
    return isLeftOut ? { ...answer, result: null } : answer
  }
}

/** Blocks come until something is so. */
async function minedUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await until(what, async () => {
    await bench.chain.client.mine({ blocks: 1 })
    return isSo()
  })
}

test('a withdrawal whose receipt the node has pruned while control was away is booked, and not sent again', async () => {
  await bench.chain.client.setAutomine(false)
  const { id, wallet } = await withdraw()
  await until('it is in the pool', async () => (await bench.chain.pooled()).length > 0)
  await bench.payments.stop(0)
  await bench.chain.client.mine({ blocks: 40 })
  const pruned = (await headOf()) - 30
  withoutReceipts((block) => block <= pruned)
  await bench.restart()
  await minedUntil('it is sent', async () => (await stateOf(id)) === 'sent')
  await bench.chain.client.mine({ blocks: FINAL_BLOCKS + 1 })
  assert.equal(await attemptsOf(id), 1)
  assert.equal(await bench.chain.balanceOf('stablecoin', wallet), AMOUNT)
})

test('a withdrawal is not sent again while the node of receipts lags', async () => {
  const stuckAt = await headOf()
  withoutReceipts((block) => block > stuckAt)
  const { id, wallet } = await withdraw()
  await minedUntil('it is sent', async () => (await stateOf(id)) === 'sent')
  assert.equal(await attemptsOf(id), 1)
  assert.equal(await bench.chain.balanceOf('stablecoin', wallet), AMOUNT)
})

test('nor is a refund', async () => {
  const [payer, order] = await bench.newOrder()
  await bench.settle(order)
  const stuckAt = await headOf()
  withoutReceipts((block) => block > stuckAt)
  await bench.serve(order, 500_000)
  const sent =
    'SELECT count(*) FROM refunds f JOIN payments p ON p.refund_id = f.id WHERE p.id = $1 AND f.state = $2 AND f.attempts = 1'
  await minedUntil('it is sent', async () => (await bench.scalar<number>(sent, order.requestId, 'sent')) === 1)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), FUNDS - 500n)
})

test('a nonce that a stranger used pauses the key until the operator has decided; then the withdrawal is sent once', async () => {
  const privateKey = bench.chain.treasuryKey
  const treasury = { ...privateKeyToAccount(privateKey), privateKey }
  bench.rpc.refused.add('eth_sendRawTransaction')
  const { id, wallet } = await withdraw()
  await until('it is stored', async () => (await attemptsOf(id)) === 1)
  await bench.chain.transfer('stablecoin', treasury, wallet, 1n)
  bench.rpc.refused.clear()
  await minedUntil('it is stuck', async () => (await bench.transactionState(`${id}#1`)) === 'stuck')
  const other = await withdraw()
  await bench.chain.client.mine({ blocks: FINAL_BLOCKS })
  assert.deepEqual([await attemptsOf(id), await attemptsOf(other.id)], [1, 0], 'nothing is sent meanwhile')
  const [row] = await stuckTransactions(bench.book.pool, 1)
  assert.ok(row)
  const next = await bench.chain.client.getTransactionCount({ address: bench.chain.treasury.address })
  await releaseStuck(bench.book.pool, outcomesOf(PRODUCTS), row, next, 'a stranger used the nonce')
  await minedUntil('both are sent', async () => (await stateOf(id)) === 'sent' && (await stateOf(other.id)) === 'sent')
  assert.equal(await bench.chain.balanceOf('stablecoin', wallet), AMOUNT + 1n)
  assert.equal(await bench.chain.balanceOf('stablecoin', other.wallet), AMOUNT)
})
