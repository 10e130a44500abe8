import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { parseAbi, parseEther, parseSignature } from 'viem'
import { paymentDigest } from '../../../contract/payments/typedData.ts'
import { settlementCall } from '../../../control/chain/settlementCall.ts'
import type { PaymentOrder } from '../../../control/products/payments/x402/paymentOrder.ts'
import { until } from '../../support/parts/ledger.ts'
import { type PaymentBench, startPaymentBench } from '../../support/parts/payments.ts'

let bench: PaymentBench

before(async () => {
  bench = await startPaymentBench()
})
afterEach(() => bench.mended())
after(() => bench.stop())

const payments = (order: PaymentOrder) =>
  bench.scalar<number>('SELECT count(*) FROM payments WHERE payer = $1', order.payer)

/** Settles and answers the code of the refusal, or 'paid'. */
async function outcome(order: PaymentOrder, waitMs?: number): Promise<string> {
  try {
    await bench.settle(order, waitMs)
    return 'paid'
  } catch (error) {
    return String((error as { code?: string }).code)
  }
}

test('insufficient_funds, cached for a minute in that token without a chain call', async () => {
  const payer = await bench.chain.newPayer({ stablecoin: 10n })
  const order = await bench.order(payer, 'stablecoin', 11n)
  await assert.rejects(bench.settle(order), { code: 'insufficient_funds', status: 402, retryAfterSeconds: 60 })
  const small = await bench.order(payer, 'stablecoin', 1n)
  const asked = bench.rpc.calls.length
  await assert.rejects(bench.settle(small), (error: { code: string; retryAfterSeconds: number }) => {
    return error.code === 'insufficient_funds' && error.retryAfterSeconds > 50 && error.retryAfterSeconds <= 60
  })
  assert.ok(!bench.rpc.calls.slice(asked).includes('eth_estimateGas'))
  const other = await bench.order(payer, 'coin', parseEther('0.001'))
  assert.equal(await outcome(other), 'paid')
  await bench.serve(other, 0)
  assert.equal(await payments(order), 1)
})

test('allowance_required; the other token is unaffected', async () => {
  const payer = await bench.chain.newPayer({ approve: false })
  const order = await bench.order(payer, 'coin', parseEther('0.001'))
  await assert.rejects(bench.settle(order), { code: 'allowance_required', status: 402, retryAfterSeconds: 60 })
  await bench.chain.approve(payer)
  assert.equal(await outcome(bench.again(order)), 'insufficient_funds')
  const other = await bench.order(payer, 'stablecoin', 5n)
  assert.equal(await outcome(other), 'paid')
  await bench.serve(other, 5_000)
  await bench.book.redis.del(`refused:${order.transfer.token}:${order.payer}`)
  const approved = bench.again(order)
  assert.equal(await outcome(approved), 'paid')
  await bench.serve(approved, 0)
})

test('authorization_used once it was served; payment_already_resolved once it was refunded', async () => {
  const payer = await bench.chain.newPayer()
  const served = await bench.order(payer, 'stablecoin', 1_000n)
  assert.equal(await outcome(served), 'paid')
  assert.equal(await outcome(bench.again(served)), 'authorization_used')
  await bench.serve(served, 900_000)
  await bench.settled()
  assert.equal(await outcome(bench.again(served)), 'authorization_used')
  const refunded = await bench.order(payer, 'stablecoin', 1_000n)
  assert.equal(await outcome(refunded), 'paid')
  await bench.serve(refunded, -1)
  await bench.settled()
  await assert.rejects(bench.settle(bench.again(refunded)), { code: 'payment_already_resolved', status: 409 })
  assert.equal(await bench.arrived('stablecoin', payer), 2)
})

for (const asset of ['stablecoin', 'coin'] as const) {
  test(`${asset}: of 50 concurrent duplicates one is paid`, async () => {
    const payer = await bench.chain.newPayer()
    const order = await bench.order(payer, asset, asset === 'coin' ? parseEther('0.002') : 2_000n)
    const orders = Array.from({ length: 50 }, () => bench.again(order))
    const outcomes = await Promise.all(orders.map((one) => outcome(one)))
    const paid = orders.filter((_, i) => outcomes[i] === 'paid')
    assert.equal(paid.length, 1, outcomes.join())
    for (const code of outcomes) assert.ok(['paid', 'payment_in_flight', 'authorization_used'].includes(code), code)
    for (const one of paid) await bench.serve(one, 1)
    await bench.settled()
    assert.equal(await bench.arrived(asset, payer), 1)
    assert.equal(await payments(order), 1)
  })
}

test('payment_in_flight: one payment of an address settles at a time', async () => {
  const payer = await bench.chain.newPayer()
  const [first, second] = [await bench.order(payer, 'stablecoin', 1n), await bench.order(payer, 'coin', 10n ** 12n)]
  await bench.chain.client.setAutomine(false)
  const waiting = outcome(first)
  await until('the first is claimed', async () => (await payments(first)) === 1)
  await until('its transfer waits for a block', async () => (await bench.chain.client.getTxpoolStatus()).pending === 1)
  await assert.rejects(bench.settle(second), { code: 'payment_in_flight', status: 429, retryAfterSeconds: 2 })
  await bench.chain.client.mine({ blocks: 1 })
  assert.equal(await waiting, 'paid')
  await bench.serve(first, 0)
  await bench.chain.client.setAutomine(true)
  const third = bench.again(second)
  assert.equal(await outcome(third), 'paid')
  await bench.serve(third, 0)
})

test('a contract wallet pays only with a signature that its contract accepts', async () => {
  const [owner, stranger] = [await bench.chain.newPayer(), await bench.chain.newPayer()]
  const wallet = await bench.chain.newContractWallet(owner.address)
  await bench.chain.mint('stablecoin', wallet, 1_000_000n)
  const template = await bench.order(owner, 'stablecoin', 2_000n)
  const payment = template.payment
  assert.ok(payment?.method === 'eip3009')
  const from = wallet.toLowerCase() as `0x${string}`
  const signed = async (signer: typeof owner): Promise<PaymentOrder> => {
    const unsigned = { ...payment, from }
    const digest = paymentDigest(unsigned)
    return {
      ...bench.again(template),
      payer: from,
      replayKey: `${template.replayKey}:${signer.address}`,
      contractDigest: digest,
      transfer: { ...template.transfer, from },
      payment: { ...unsigned, signature: await signer.sign({ hash: digest }) },
    }
  }
  assert.equal(await outcome(await signed(stranger)), 'payment_invalid')
  const order = await signed(owner)
  assert.equal(await outcome(order), 'paid')
  await bench.serve(order, 100)
  await bench.settled()
  assert.equal(await bench.chain.balanceOf('stablecoin', wallet), 1_000_000n - 1n)
})

test('a payment that a third party sent to the chain first still pays for the request', async () => {
  for (const asset of ['stablecoin', 'coin'] as const) {
    const payer = await bench.chain.newPayer()
    const order = await bench.order(payer, asset, asset === 'coin' ? 10n ** 15n : 2_000n)
    assert.ok(order.payment)
    const other = await bench.chain.newPayer()
    const hash = await bench.chain.client.sendTransaction({ account: other, ...settlementCall(order.payment) })
    await bench.chain.client.waitForTransactionReceipt({ hash })
    assert.equal((await bench.settle(order)).transaction, hash)
    await bench.serve(order, 1_000)
    await bench.settled()
    assert.equal(await outcome(bench.again(order)), 'authorization_used')
    assert.equal(await bench.arrived(asset, payer), 1)
  }
})

test('authorization_used for one that its payer cancelled', async () => {
  const payer = await bench.chain.newPayer()
  const order = await bench.order(payer, 'stablecoin', 2_000n)
  assert.ok(order.payment?.method === 'eip3009')
  const { nonce, from } = order.payment
  const { v, r, s } = parseSignature(
    await payer.signTypedData({
      domain: { name: 'USD Coin', version: '2', chainId: 31_337, verifyingContract: bench.chain.contracts.stablecoin },
      types: {
        CancelAuthorization: [
          { name: 'authorizer', type: 'address' },
          { name: 'nonce', type: 'bytes32' },
        ],
      },
      primaryType: 'CancelAuthorization',
      message: { authorizer: from, nonce },
    }),
  )
  const hash = await bench.chain.client.writeContract({
    account: payer,
    address: bench.chain.contracts.stablecoin,
    abi: parseAbi(['function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)']),
    functionName: 'cancelAuthorization',
    args: [from, nonce, Number(v), r, s],
  })
  await bench.chain.client.waitForTransactionReceipt({ hash })
  assert.equal(await outcome(order), 'authorization_used')
  assert.equal(await payments(order), 0)
})

test('settlement_failed if the money is spent before the block', async () => {
  const payer = await bench.chain.newPayer({ stablecoin: 1_000n })
  const order = await bench.order(payer, 'stablecoin', 1_000n)
  await bench.chain.client.setAutomine(false)
  const waiting = outcome(order)
  await until('it is claimed', async () => (await payments(order)) === 1)
  await until('it waits for a block', async () => (await bench.chain.pooled()).length === 1)
  // Blocks take the better paid first.
  await bench.chain.client.writeContract({
    account: payer,
    address: bench.chain.contracts.stablecoin,
    abi: parseAbi(['function transfer(address to, uint256 value) returns (bool)']),
    functionName: 'transfer',
    args: [bench.chain.relayer.address, 1_000n],
    // Not to be estimated: that would find the payment in the pool.
    gas: 100_000n,
    maxFeePerGas: parseEther('0.000001'),
    maxPriorityFeePerGas: parseEther('0.000001'),
  })
  await bench.chain.client.mine({ blocks: 1 })
  assert.equal(await waiting, 'settlement_failed')
  await bench.chain.client.setAutomine(true)
  await assert.rejects(bench.settle(bench.again(order)), { code: 'settlement_failed', status: 402 })
  assert.equal(await bench.arrived('stablecoin', payer), 0)
})

test('chain_unavailable if no node responds, and no payment is taken', async () => {
  const payer = await bench.chain.newPayer()
  const order = await bench.order(payer, 'stablecoin', 1_000n)
  bench.rpc.down = true
  await assert.rejects(bench.settle(order), { code: 'chain_unavailable', status: 503, retryAfterSeconds: 2 })
  assert.equal(await payments(order), 0)
  bench.rpc.down = false
  assert.equal(await outcome(order), 'paid')
  await bench.serve(order, 0)
})

test('payments_busy and funds_lease', async () => {
  const payer = await bench.chain.newPayer()
  const order = await bench.order(payer, 'stablecoin', 1_000n)
  await bench.payments.stop(0)
  await assert.rejects(bench.settle(order), { code: 'funds_lease', status: 503, retryAfterSeconds: 1 })
  assert.equal(await payments(order), 0)
  bench.payments = bench.startPayments()
  await bench.ready()
  assert.equal(await outcome(order), 'paid')
  await bench.serve(order, 0)
})
