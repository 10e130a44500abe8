// Goal: nobody spends the gateway's gas beyond what he pays or the bound of a day: withdrawals of coin and of tokens of compute
// locks pay a fee and are bounded, so are deposits by a signature, mints to wallets with code have little gas, and payments that
// nobody pays for are bounded by wallet. Method: a whole gateway on a real chain with small bounds; each kind is repeated in a
// circle that costs its sender nothing else, and the transactions that were sent are counted.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { type Address, concatHex, type Hex, numberToHex } from 'viem'
import { assertRefused } from '../../support/clients/apiClient.ts'
import { issueLock } from '../../support/clients/lockClient.ts'
import { coinOf, deposit, newHolder, signDeposit, untilCredited, withdraw } from '../../support/clients/moneyClient.ts'
import { codeOf, HELLO, payFor, paymentHeader, post, quote } from '../../support/clients/paidClient.ts'
import type { PaidStack } from '../../support/paidStack.ts'
import { LockTokenStack } from '../../support/parts/lockTokenStack.ts'
import { until } from '../../support/stack.ts'

const A_DAY = 2
/** Of the coin, which is worth half a dollar, for a fee of a cent. */
const FEE_COIN = 0.02

let locks: LockTokenStack
let paid: PaidStack
before(async () => {
  const bounds = { signedDepositsPerDay: A_DAY, withdrawalsPerDay: A_DAY, lockWithdrawalsPerDay: A_DAY }
  locks = await LockTokenStack.start(
    {
      limits: { ...bounds, uncoveredPaymentsPerDay: A_DAY },
      catalog: { models: [{ id: 'test/small' }, { id: 'test/failing', upstream: 'failing,error=500' }] },
    },
    { gas_fee_usd: '0.01' },
  )
  paid = locks.paid
  await paid.chain.fillTreasury()
})
afterEach(() => paid.mended())
after(() => paid.stop())

/** How many transactions of a kind the gateway has made. */
async function sentOf(purpose: string): Promise<number> {
  const found = await paid.pool.query<{ count: number }>(
    'SELECT count(*) FROM chain_transactions WHERE purpose = $1 AND sender IS NOT NULL',
    [purpose],
  )
  return found.rows[0]?.count ?? 0
}

test('a withdrawal of coin costs the fee, and an account makes so many a day', async () => {
  const holder = await newHolder(paid, '100')
  for (let i = 1; i <= A_DAY; i++) {
    assert.equal((await withdraw(paid, holder, { amount: '10' })).status, 202)
    assert.equal((await coinOf(paid, holder))[0].toFixed(9), (100 - i * (10 + FEE_COIN)).toFixed(9))
  }
  assertRefused(await withdraw(paid, holder, { amount: '10' }), 429, 'rate_limited')
  await paid.audited()
  assert.equal(await sentOf('withdrawal'), A_DAY)
  const poor = await newHolder(paid, '10')
  assertRefused(await withdraw(paid, poor, { amount: '10' }), 402, 'insufficient_balance')
  assert.deepEqual(await coinOf(paid, poor), [10, 10])
})

test('an account makes so many deposits by a signature a day, and the next one costs no gas', async () => {
  const holder = await newHolder(paid)
  for (let i = 0; i < A_DAY; i++) {
    const made = await deposit(paid, holder, await signDeposit(paid, holder.wallet, 1_000_000n))
    assert.equal(made.status, 202, made.text)
    await untilCredited(paid, holder, made.body.id)
  }
  const again = await signDeposit(paid, holder.wallet, 1_000_000n)
  assertRefused(await deposit(paid, holder, again), 429, 'rate_limited')
  assert.equal(await sentOf('deposit'), A_DAY)
})

test('withdrawing and redeeming tokens of a lock costs the fee each time, and ends with the bound of the day', async () => {
  const series = await issueLock(paid.stack)
  const holder = await locks.buyer(series, '2')
  const [before] = await coinOf(paid, holder)
  for (let i = 1; i <= A_DAY; i++) {
    assert.equal((await locks.withdraw(holder, series, '1')).status, 202)
    await until('the tokens are minted', async () => (await locks.onChain(holder, series)) === 1_000_000)
    await locks.redeem(holder, series, 1_000_000n)
    await until('the tokens are back', async () => (await locks.held(holder, series)) === 2_000_000)
    assert.equal((await coinOf(paid, holder))[0].toFixed(9), (before - i * FEE_COIN).toFixed(9))
  }
  assertRefused(await locks.withdraw(holder, series, '1'), 429, 'rate_limited')
  assert.equal(await sentOf('lock_mint'), A_DAY)
})

/** Takes every ERC-1155 token, after so many rounds of about 26 gas. */
function spender(rounds: number): Hex {
  const loop = concatHex(['0x62', numberToHex(rounds, { size: 3 }), '0x5b', '0x60019003', '0x80', '0x6004', '0x57'])
  const accept = '0x63f23a6e6160e01b60005260206000f3'
  const code = concatHex([loop, accept])
  const size = (code.length - 2) / 2
  // PUSH1 size, DUP1, PUSH1 11, PUSH1 0, CODECOPY, PUSH1 0, RETURN
  return concatHex(['0x60', numberToHex(size, { size: 1 }), '0x80', '0x600b', '0x6000', '0x39', '0x6000', '0xf3', code])
}

test('a wallet whose code wants much gas gets no tokens, and the gateway spends none on it', async () => {
  const series = await issueLock(paid.stack)
  const holder = await locks.buyer(series, '2')
  const minted = await sentOf('lock_mint')
  const contract = await deployed(spender(8_000))
  await paid.stack.cli('wallet', 'link', holder.accountId, contract)
  const made = await locks.withdrawTo(holder, series, '1', contract)
  assert.equal(made.status, 202, made.text)
  const statusOf = async () => (await locks.withdrawals(holder)).find(({ id }) => id === made.body.id)?.status
  await until('it is returned', async () => (await statusOf()) === 'returned')
  assert.equal(await sentOf('lock_mint'), minted)
})

async function deployed(data: Hex): Promise<Address> {
  const { client } = paid.chain
  const account = await paid.chain.newPayer()
  const hash = await client.sendTransaction({ account, data })
  const { contractAddress } = await client.waitForTransactionReceipt({ hash })
  assert.ok(contractAddress)
  assert.ok((await client.getCode({ address: contractAddress }))?.endsWith('60206000f3'))
  return contractAddress
}

test('a wallet whose payments go back whole is refused after so many a day, before any gas', async () => {
  const payer = await paid.chain.newPayer()
  const body = { ...HELLO, model: 'test/failing' }
  const pay = async (asked: unknown) => post(paid, asked, paymentHeader(await payFor(await quote(paid, asked), payer)))
  const before = await sentOf('payment')
  const settled = async () => (await sentOf('payment')) - before
  // A loaded machine may answer a request before its payment was sent.
  for (let tries = 0; tries < 5 && (await settled()) < A_DAY; tries++) {
    const failed = await pay(body)
    assert.ok(failed.status >= 500, failed.text)
    await paid.audited()
  }
  const refused = await pay(body)
  assert.deepEqual([refused.status, codeOf(refused)], [429, 'payments_busy'], refused.text)
  assert.equal((await pay(HELLO)).status, 429)
  assert.equal(await settled(), A_DAY)
})
