// Goal: tokens of a holding leave to a wallet and come back exactly once: to whoever redeems them, or to the holding when the
// contract refuses, and the month's end burns what is left on the chain. Method: a whole stack on a real chain; every test ends
// with the audit, which compares the book with the contract.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { type Address, parseAbi, zeroHash } from 'viem'
import { lockTokensInitCode } from '../../../control/chain/deploy/initCodes.ts'
import { provideContract } from '../../../control/launch/chain/deploy.ts'
import { numberOfId } from '../../../control/products/locks/tokens/lockTokensContract.ts'
import type { Payer } from '../../support/chain.ts'
import { api, apiOk, assertRefused, type Json } from '../../support/clients/apiClient.ts'
import { issueLock, tokensOf } from '../../support/clients/lockClient.ts'
import { type Holder, newHolder } from '../../support/clients/moneyClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

const ABI = parseAbi([
  'function redeem(uint256 id, uint256 amount, bytes32 account)',
  'function balanceOf(address account, uint256 id) view returns (uint256)',
  'function totalSupply(uint256 id) view returns (uint256)',
  'function safeTransferFrom(address from, address to, uint256 id, uint256 value, bytes data)',
])
const NOTHING = { coin: 0n, stablecoin: 0n }
const WITHDRAWALS = '/v1/locks/withdrawals'

interface LockWithdrawal extends Json {
  readonly id: string
  readonly status: string
  readonly token_amount: string
  readonly transaction: string | null
}

let paid: PaidStack
let contract: Address
let url: string
let series: string
before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, signInRequestBurst: 1_000 }
  const quick = { withdrawalCheckMs: 50, lockSeriesCheckMs: 100, grantSweepMs: 100, lockWithdrawalCutoffMs: 1 }
  paid = await startPaidStack({
    limits: { ...rates, ...quick },
    payments: async (chain) => {
      contract = await provideContract(chain.client, lockTokensInitCode(chain.treasury.address))
      return { lock_tokens: contract }
    },
  })
  url = paid.stack.baseUrl
  series = await issueLock(paid.stack)
})
afterEach(() => paid.mended())
after(() => paid.stop())

const newBuyer = (): Promise<Holder> => newHolder(paid, '100', NOTHING)

/** An account that has bought tokens of a series. */
async function buyer(tokens: string, of = series, by?: Holder): Promise<Holder> {
  const holder = by ?? (await newBuyer())
  const body = { series: of, side: 'buy', type: 'market', tokens }
  await apiOk(url, 'POST', '/v1/locks/orders', { token: holder.token, body })
  return holder
}

const withdraw = (holder: Pick<Holder, 'token'>, body: Json, headers = {}) =>
  api<LockWithdrawal>(url, 'POST', WITHDRAWALS, { token: holder.token, body: { series, ...body }, headers })

async function ended(holder: Holder, id: string): Promise<LockWithdrawal> {
  const read = async () => {
    const { data } = await apiOk<{ data: LockWithdrawal[] }>(url, 'GET', WITHDRAWALS, { token: holder.token })
    return data.find((one) => one.id === id)
  }
  const one = await apiOk<LockWithdrawal>(url, 'GET', `${WITHDRAWALS}/${id}`, { token: holder.token })
  assert.equal(one.id, id)
  await until('the withdrawal has ended', async () => !['pending', undefined].includes((await read())?.status))
  return (await read()) as LockWithdrawal
}

const onChain = (wallet: Address, of = series) =>
  paid.chain.client.readContract({
    abi: ABI,
    address: contract,
    functionName: 'balanceOf',
    args: [wallet, numberOfId(of)],
  })

async function redeem(account: Payer, micros: bigint): Promise<void> {
  const args = [numberOfId(series), micros, zeroHash] as const
  const hash = await paid.chain.client.writeContract({
    abi: ABI,
    address: contract,
    functionName: 'redeem',
    args,
    account,
  })
  await paid.chain.client.waitForTransactionReceipt({ hash })
}

async function send(account: Payer, to: Address, micros: bigint): Promise<void> {
  const args = [account.address, to, numberOfId(series), micros, '0x'] as const
  const call = { abi: ABI, address: contract, functionName: 'safeTransferFrom', args, account } as const
  await paid.chain.client.waitForTransactionReceipt({ hash: await paid.chain.client.writeContract(call) })
}

const holds = (holder: Holder, tokens: string) =>
  until(`the account holds ${tokens}`, async () => (await tokensOf(url, holder.token, series)) === tokens)

/** Asserts that the audit finds tokens that are missing in rows of a table. */
async function findsFault(table: string, checks: readonly string[]): Promise<void> {
  await paid.pool.query(`UPDATE ${table} SET micros = micros - 1`)
  const { code, json } = await paid.stack.cli('audit')
  assert.notEqual(code, 0)
  const broken = (json as { checks: { name: string; ok: boolean }[] }).checks.filter(({ ok }) => !ok)
  assert.deepEqual(
    broken.map(({ name }) => name),
    checks,
  )
  await paid.pool.query(`UPDATE ${table} SET micros = micros + 1`)
}

test('tokens reach the wallet, change hands, and are credited to the account whose wallet redeems them', async () => {
  const [one, two] = [await buyer('5'), await newHolder(paid, '1', NOTHING)]
  const sent = [1, 2].map(() => withdraw(one, { tokens: '3.000001' }, { 'idempotency-key': 'once' }))
  const [first, second] = await Promise.all(sent)
  assert.equal(first?.status, 202, first?.text)
  assert.equal(second?.body.id, first?.body.id)
  assert.equal(await tokensOf(url, one.token, series), '1.999999')
  const { status, token_amount, transaction } = await ended(one, String(first?.body.id))
  assert.deepEqual([status, token_amount], ['sent', '3000001'])
  assert.match(transaction ?? '', /^0x[0-9a-f]{64}$/)
  assert.equal(await onChain(one.wallet.address), 3_000_001n)
  await send(one.wallet, two.wallet.address, 2_000_000n)
  await redeem(two.wallet, 1_500_000n)
  await holds(two, '1.500000')
  await redeem(one.wallet, 1_000_001n)
  await holds(one, '3.000000')
  await paid.audited()
  await findsFault('lock_redemptions', [
    'tokens on the chain are those withdrawn and neither returned nor redeemed',
    'every withdrawal and redemption of lock tokens is booked once',
    'contracts have the lock tokens that were minted and not redeemed',
  ])
  // What came back is sold and withdrawn like all other tokens.
  const body = { series, side: 'sell', type: 'limit', tokens: '1.5', price: '9' }
  await apiOk(url, 'POST', '/v1/locks/orders', { token: two.token, body })
})

test('what may not be withdrawn is refused, and nothing moves', async () => {
  const [one, two] = [await buyer('5'), await newHolder(paid, '1', NOTHING)]
  assertRefused(await withdraw(one, { tokens: '0.999999' }), 409, 'below_minimum', 'tokens')
  assertRefused(await withdraw(one, { tokens: '1.0000001' }), 400, null, 'tokens')
  assertRefused(await withdraw(one, { tokens: '5.000001' }), 402, 'insufficient_balance')
  assertRefused(await withdraw(one, { tokens: '1', address: two.wallet.address }), 404, 'wallet_not_found', 'address')
  assertRefused(await withdraw({ token: one.apiKey }, { tokens: '1' }), 400, 'invalid_address', 'address')
  const none = { series: 'lock_0123456789ABCDEFGHJKMNPQRS', tokens: '1' }
  assertRefused(await withdraw(one, none), 404, 'lock_series_not_found')
  assert.equal(await tokensOf(url, one.token, series), '5.000000')
})

test('tokens that are withdrawn concurrently are never more than there are', async () => {
  const one = await buyer('5')
  const answers = await Promise.all(Array.from({ length: 6 }, () => withdraw(one, { tokens: '2' })))
  const taken = answers.filter(({ status }) => status === 202)
  assert.equal(taken.length, 2, answers.map(({ text }) => text).join('\n'))
  for (const { body } of taken) await ended(one, body.id)
  assert.equal(await onChain(one.wallet.address), 4_000_000n)
})

test('redemptions of a wallet that is linked to no account wait until it is linked', async () => {
  const [one, two] = [await buyer('2'), await newHolder(paid, '1', NOTHING)]
  await ended(one, (await withdraw(one, { tokens: '2' })).body.id)
  const stranger = await paid.chain.newPayer(NOTHING)
  await send(one.wallet, stranger.address, 2_000_000n)
  await redeem(stranger, 2_000_000n)
  await until('the redemption is read', async () => paid.stack.logs().includes(stranger.address.toLowerCase()))
  await paid.audited()
  const linked = await paid.stack.cli('wallet', 'link', two.accountId, stranger.address)
  assert.equal(linked.code, 0, linked.stderr)
  await holds(two, '2.000000')
})

test('a transaction that fails is sent again, and tokens that the wallet cannot take go back once', async () => {
  const one = await buyer('4')
  // A contract in place of the wallet, which takes no tokens of this kind.
  const code = await paid.chain.client.getCode({ address: paid.chain.contracts.coin })
  await paid.chain.client.setCode({ address: one.wallet.address, bytecode: code ?? '0x' })
  const refused = await ended(one, (await withdraw(one, { tokens: '4' })).body.id)
  assert.deepEqual([refused.status, refused.transaction], ['returned', null])
  await holds(one, '4.000000')
  await paid.chain.client.setCode({ address: one.wallet.address, bytecode: '0x' })
  // Refused in its block alone: the wallet becomes a contract while the transaction waits.
  await paid.chain.client.setAutomine(false)
  let id = ''
  // The book has the tokens a moment before requests and withdrawals can use them.
  await until('the tokens are free', async () => {
    const { status, body } = await withdraw(one, { tokens: '4' })
    id = body.id
    return status === 202
  })
  await until('it is in the pool', async () => (await paid.chain.pooled()).length > 0)
  await paid.chain.client.setCode({ address: one.wallet.address, bytecode: code ?? '0x' })
  await paid.chain.client.setAutomine(true)
  await paid.chain.client.mine({ blocks: 10 })
  assert.equal((await ended(one, id)).status, 'returned')
  await holds(one, '4.000000')
  await paid.chain.client.setCode({ address: one.wallet.address, bytecode: '0x' })
})

test("the month's end burns what is on the chain, here and there", async () => {
  const short = await issueLock(paid.stack)
  // Before the end is set, which the purchase and its mint have to come before.
  const holder = await newBuyer()
  const ends = Math.ceil(Date.now() / 1_000) * 1_000 + 40_000
  await paid.pool.query('UPDATE lock_series SET ends_at_ms = $2 WHERE id = $1', [short, ends])
  const one = await buyer('3', short, holder)
  const made = await withdraw(one, { series: short, tokens: '2' })
  assert.equal(made.status, 202, made.text)
  assert.equal((await ended(one, made.body.id)).status, 'sent')
  assert.equal(await onChain(one.wallet.address, short), 2_000_000n)
  // Its mint gets into a block after the end alone, where the contract refuses it.
  await paid.chain.client.setAutomine(false)
  const late = await withdraw(one, { series: short, tokens: '1' })
  assert.equal(late.status, 202, late.text)
  const state = async () =>
    (await paid.pool.query<{ state: string }>('SELECT state FROM lock_series WHERE id = $1', [short])).rows[0]?.state
  await until('the series is closed', async () => (await state()) === 'closed')
  const left = await paid.pool.query<{ balance: number }>(
    "SELECT balance FROM ledger_accounts WHERE id IN ('lock_onchain:' || $1, 'lock_issued:' || $1, 'lock_unearned:' || $1)",
    [short],
  )
  assert.deepEqual(left.rows, [{ balance: 0 }, { balance: 0 }, { balance: 0 }])
  // The series closes within the second of its end, and blocks have whole seconds of the clock of the node.
  await paid.chain.client.setNextBlockTimestamp({ timestamp: BigInt(ends / 1_000 + 1) })
  await paid.chain.client.setAutomine(true)
  await paid.chain.client.mine({ blocks: 10 })
  assert.equal(await onChain(one.wallet.address, short), 0n)
  assert.equal((await ended(one, late.body.id)).status, 'expired')
})
