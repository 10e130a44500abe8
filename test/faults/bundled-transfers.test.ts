// Goal: of several transfers to the treasury in one transaction, each counts for its own purpose. Method: control's side of payments
// on a real chain; a third party submits what payers have signed through Multicall3, before the gateway does.
import assert from 'node:assert/strict'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import test, { after, afterEach, before } from 'node:test'
import { type Address, encodeFunctionData, type Hex, parseAbi } from 'viem'
import { settlementCall } from '../../control/chain/settlementCall.ts'
import { unclaimedTransfers } from '../../control/chain/unclaimedTransfers.ts'
import type { PaymentOrder } from '../../control/products/payments/x402/paymentOrder.ts'
import { FUNDS, type Payer } from '../support/chain.ts'
import { paymentRaceLimits } from '../support/limits.ts'
import { newAccount, until } from '../support/parts/ledger.ts'
import { AMOUNT, type PaymentBench, startPaymentBench } from '../support/parts/payments.ts'

const SHORT_MS = 400
const MULTICALL = parseAbi([
  'function aggregate3((address target, bool allowFailure, bytes callData)[] calls) payable returns ((bool success, bytes returnData)[])',
])

let bench: PaymentBench
let sender: Payer
let multicall: Address
before(async () => {
  bench = await startPaymentBench({ finalBlocks: 5 }, paymentRaceLimits)
  await bench.chain.fillTreasury()
  sender = await bench.chain.newPayer({ approve: false })
  const { client } = bench.chain
  const hash = await client.sendTransaction({ account: sender, chain: null, data: multicallCode(), gas: 5_000_000n })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  assert.ok(contractAddress)
  multicall = contractAddress
})
afterEach(() => bench.mended())
after(() => bench.stop())

/** The creation code of Multicall3, which viem has and does not export. */
function multicallCode(): Hex {
  const require = createRequire(import.meta.url)
  const contracts = require(join(require.resolve('viem'), '../constants/contracts.js')) as { multicall3Bytecode: Hex }
  return contracts.multicall3Bytecode
}

/** Submits what payers have signed, in one transaction. */
async function bundle(orders: readonly PaymentOrder[]): Promise<void> {
  const calls = orders.map(({ payment }) => {
    assert.ok(payment)
    const { to: target, data: callData } = settlementCall(payment)
    return { target, allowFailure: false, callData }
  })
  const data = encodeFunctionData({ abi: MULTICALL, functionName: 'aggregate3', args: [calls] })
  const { client } = bench.chain
  const hash = await client.sendTransaction({ account: sender, chain: null, to: multicall, data, gas: 1_000_000n })
  assert.equal((await client.waitForTransactionReceipt({ hash })).status, 'success')
}

/** The gateway's own transaction comes second. */
async function settleLate(orders: readonly PaymentOrder[]): Promise<void> {
  bench.rpc.refused.add('eth_sendRawTransaction')
  await Promise.all(orders.map((order) => bench.settle(order, SHORT_MS).catch(() => {})))
}

async function minedUntil(what: string, isSo: () => Promise<boolean>): Promise<void> {
  await until(what, async () => {
    await bench.chain.client.mine({ blocks: 1 })
    return isSo()
  })
}

const has = (payer: Payer) => bench.chain.balanceOf('stablecoin', payer.address)

test('two payments in one transaction are both paid, and refunded when nobody waits for them', async () => {
  const [[first, one], [second, two]] = [await bench.newOrder(), await bench.newOrder()]
  await settleLate([one, two])
  await bundle([one, two])
  bench.rpc.refused.clear()
  await minedUntil('both are back', async () => (await has(first)) === FUNDS && (await has(second)) === FUNDS)
  assert.deepEqual([await bench.stateOf(one), await bench.stateOf(two)], ['closed', 'closed'])
})

test('equal payments of one wallet in one transaction count each for one', async () => {
  const [payer, one] = await bench.newOrder()
  const two = await bench.order(payer, 'stablecoin', AMOUNT)
  await settleLate([one])
  await bundle([one, two])
  bench.rpc.refused.clear()
  await minedUntil('the first is back', async () => (await has(payer)) === FUNDS - AMOUNT)
  await bench.settled()
  const unclaimed = (await unclaimedTransfers(bench.book.pool, 10)).filter(
    ({ from }) => from === payer.address.toLowerCase(),
  )
  assert.deepEqual(
    unclaimed.map(({ amount, transfers }) => [amount, transfers]),
    [[AMOUNT.toString(), 1]],
    'the other has a row',
  )
})

test('a payment and a deposit of a linked wallet in one transaction are both counted', async () => {
  const [[payer, order], [depositor, other]] = [await bench.newOrder(), await bench.newOrder()]
  const account = await newAccount(bench.book.pool, 0)
  bench.wallets.set(depositor.address.toLowerCase(), account)
  await settleLate([order])
  // The scan of transfers comes after the payment was found.
  let isHeld = true
  bench.rpc.altered = ({ id, method, params }, answer) => {
    const isScan = method === 'eth_getLogs' && Array.isArray((params as [{ address?: unknown }])[0]?.address)
    return isScan && isHeld ? { id, error: { code: -32_000, message: 'busy' } } : answer
  }
  await bundle([order, other])
  bench.rpc.refused.clear()
  await minedUntil('the payment is back', async () => (await has(payer)) === FUNDS)
  isHeld = false
  const credited = `SELECT count(*) FROM deposits WHERE account_id = $1 AND state = 'credited' AND amount = $2`
  await minedUntil('the deposit is credited', async () => {
    return (await bench.scalar<number>(credited, account, AMOUNT.toString())) === 1
  })
  assert.equal(await has(depositor), FUNDS - AMOUNT)
})
