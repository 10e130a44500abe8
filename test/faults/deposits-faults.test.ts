// Goal: a deposit is credited once or has failed, whatever dies, is taken back or is done by somebody else on its way.
// Method: a whole stack on a real chain; every test ends with the audit, which compares the book with the chain.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { encodeFunctionData } from 'viem'
import { PAYMENT_ABI } from '../../control/chain/settlementCall.ts'
import { FUNDS } from '../support/chain.ts'
import {
  coinOf,
  deposit,
  depositStatus,
  newHolder,
  type SignedDeposit,
  signDeposit,
  untilCredited,
} from '../support/clients/moneyClient.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'
import { until } from '../support/stack.ts'

/** Two dollars of the stablecoin, which are four of the coin at half a dollar each. */
const TWO = 2_000_000n
let paid: PaidStack

before(async () => {
  paid = await startPaidStack({ limits: { signInRequestBurst: 1_000, depositCheckMs: 50 } })
})
afterEach(() => paid.mended())
after(() => paid.stop())

test('after a reorg the deposit is sent again, and credited once', async () => {
  const holder = await newHolder(paid)
  const snapshot = await paid.chain.client.snapshot()
  const block = Number(await paid.chain.client.getBlockNumber())
  const made = await deposit(paid, holder, await signDeposit(paid, holder.wallet, TWO))
  await untilCredited(paid, holder, made.body.id)
  await paid.chain.client.revert({ id: snapshot })
  assert.equal(await paid.has('stablecoin', holder.wallet), FUNDS)
  // What was read of the blocks that are gone is read again.
  await paid.pool.query('UPDATE chain_identity SET scanned_block = $1', [block])
  await paid.chain.client.mine({ blocks: 1 })
  await until('it is made again', async () => (await paid.has('stablecoin', holder.wallet)) === FUNDS - TWO)
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [4, 4])
})

test('control dies between commit and sending: the next one sends, once', async () => {
  const holder = await newHolder(paid)
  paid.rpc.refused.add('eth_sendRawTransaction')
  const made = await deposit(paid, holder, await signDeposit(paid, holder.wallet, TWO))
  assert.equal(made.status, 202, made.text)
  await paid.stack.control.kill9()
  paid.rpc.refused.clear()
  await paid.stack.control.start()
  await untilCredited(paid, holder, made.body.id)
  assert.equal(await paid.has('stablecoin', holder.wallet), FUNDS - TWO)
})

test('a third party sends the authorization first: the deposit is still credited, once', async () => {
  const holder = await newHolder(paid)
  const body = await signDeposit(paid, holder.wallet, TWO)
  paid.rpc.refused.add('eth_sendRawTransaction')
  const made = await deposit(paid, holder, body)
  assert.equal(made.status, 202, made.text)
  await sendForeign(body)
  paid.rpc.refused.clear()
  await until('it is credited', async () => (await coinOf(paid, holder))[0] === 4)
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [4, 4])
  assert.notEqual(await depositStatus(paid, holder, made.body.id), 'pending')
})

/** Anybody may send what was signed. */
async function sendForeign({ authorization, signature }: SignedDeposit): Promise<void> {
  const { from, to, value, validAfter, validBefore, nonce } = authorization
  const head = [from, to, BigInt(value), BigInt(validAfter), BigInt(validBefore), nonce] as const
  const args = [...head, signature] as never
  const data = encodeFunctionData({ abi: PAYMENT_ABI, functionName: 'transferWithAuthorization', args })
  const hash = await paid.chain.client.sendTransaction({ to: paid.chain.contracts.stablecoin, data })
  const receipt = await paid.chain.client.waitForTransactionReceipt({ hash })
  assert.equal(receipt.status, 'success')
}

test('a deposit whose authorization is used before its transaction fails, and is not credited', async () => {
  const holder = await newHolder(paid)
  const body = await signDeposit(paid, holder.wallet, TWO)
  paid.rpc.refused.add('eth_sendRawTransaction')
  const made = await deposit(paid, holder, body)
  await paid.chain.transfer('stablecoin', holder.wallet, paid.chain.relayer.address, FUNDS)
  paid.rpc.refused.clear()
  await until('it has failed', async () => (await depositStatus(paid, holder, made.body.id)) === 'failed')
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [0, 0])
})
