import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { parseEther } from 'viem'
import { payerAccountId } from '../../../contract/payments/payerAccount.ts'
import { type PaymentBench, startPaymentBench } from '../../support/parts/payments.ts'

let bench: PaymentBench

before(async () => {
  bench = await startPaymentBench()
})
after(() => bench.stop())

const balance = (account: string) => bench.scalar<number>('SELECT balance FROM ledger_accounts WHERE id = $1', account)

test('EIP-3009: the payer pays, is served and is refunded the rest', async () => {
  const payer = await bench.chain.newPayer()
  const order = await bench.order(payer, 'stablecoin', 4_200n)
  const settled = await bench.settle(order)
  assert.match(settled.transaction, /^0x[0-9a-f]{64}$/)
  assert.ok(Math.abs(settled.heldAtMs - Date.now()) < 60_000)
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), 1_000_000_000n - 4_200n)
  await bench.serve(order, 1_234_567)
  await bench.settled()
  // 4,200,000 units less 1,234,567 are 2,965,433: 2,965 whole atomic units go back.
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), 1_000_000_000n - 4_200n + 2_965n)
  assert.equal(await balance(`coin:${payerAccountId(order.payer)}`), 0)
  await bench.audit()
})

test('Permit2: the same with the coin, exact to the last atomic unit', async () => {
  const payer = await bench.chain.newPayer()
  const order = await bench.order(payer, 'coin', parseEther('0.0042'))
  assert.equal(order.units, 2_100_000)
  await bench.settle(order)
  await bench.serve(order, 1_000_001)
  await bench.settled()
  const back = (parseEther('0.0042') * 1_099_999n) / 2_100_000n
  assert.equal(await bench.chain.balanceOf('coin', payer.address), parseEther('1000') - parseEther('0.0042') + back)
  assert.equal(await balance(`coin:${payerAccountId(order.payer)}`), 0)
  await bench.audit()
})

test('a request that was not served is refunded in full', async () => {
  const payer = await bench.chain.newPayer()
  const order = await bench.order(payer, 'stablecoin', 777n)
  await bench.settle(order)
  await bench.serve(order, -1)
  await bench.settled()
  assert.equal(await bench.chain.balanceOf('stablecoin', payer.address), 1_000_000_000n)
  await bench.audit()
})
