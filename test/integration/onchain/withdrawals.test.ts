// Goal: coin that leaves an account reaches its wallet exactly once, and never twice or not at all. Method: a whole stack
// on a real chain; every test ends with the audit, which compares the book with the chain.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { parseEther, zeroAddress } from 'viem'
import { api, apiOk, assertRefused } from '../../support/clients/apiClient.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { coinOf, type Holder, listOf, type Movement, newHolder, withdraw } from '../../support/clients/moneyClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

let paid: PaidStack

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, signInRequestBurst: 1_000 }
  // The treasury lacks tokens in some tests, and takes withdrawals all the same.
  const gate = { reserveShortReadings: 1_000_000 }
  paid = await startPaidStack({ limits: { ...rates, ...gate, withdrawalCheckMs: 50, withdrawalBatchMax: 1 } })
  await paid.chain.fillTreasury()
})
afterEach(() => paid.mended())
after(() => paid.stop())

const NOTHING = { coin: 0n, stablecoin: 0n }

async function accepted(holder: Holder, body: unknown): Promise<Movement> {
  const answer = await withdraw(paid, holder, body)
  assert.equal(answer.status, 202, answer.text)
  return answer.body
}

async function sent(holder: Holder, { id }: Movement): Promise<Movement> {
  const read = () =>
    apiOk<Movement>(paid.stack.baseUrl, 'GET', `/v1/account/withdrawals/${id}`, { token: holder.token })
  await until('it is sent', async () => (await read()).status === 'sent')
  return read()
}

test('coin and stablecoin reach the wallet, and the account keeps the rest', async () => {
  const holder = await newHolder(paid, '20', NOTHING)
  const first = await accepted(holder, { amount: '5' })
  assert.deepEqual(first.amount, { units: '2500000000', usd: '2.5', coin: '5' })
  assert.deepEqual([first.status, first['asset'], first.transaction], ['pending', 'coin', null])
  assert.match((await sent(holder, first)).transaction ?? '', /^0x[0-9a-f]{64}$/)
  assert.equal(await paid.has('coin', holder.wallet), parseEther('5'))
  // A third of a coin is a sixth of a dollar: the stablecoin has six places, and the account pays what they are worth.
  const second = await accepted(holder, { amount: '2.333333333', asset: 'stablecoin', address: holder.wallet.address })
  assert.deepEqual([second.amount.units, second.token_amount], ['1166666000', '1166666'])
  await sent(holder, second)
  assert.equal(await paid.has('stablecoin', holder.wallet), 1_166_666n)
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [12.666668, 12.666668])
  assert.deepEqual(
    (await listOf(paid, holder, 'withdrawals')).map(({ id }) => id),
    [second.id, first.id],
  )
  completion(await chat(paid.stack.baseUrl, holder.apiKey, { model: 'test/small', max_tokens: 100 }))
})

test('an invalid withdrawal is rejected with its code, and no tokens move', async () => {
  const [holder, other] = [await newHolder(paid, '10', NOTHING), await newHolder(paid, '10', NOTHING)]
  const rows: Array<[body: unknown, status: number, code: string | null, param?: string]> = [
    [{ amount: '1.999999999' }, 409, 'below_minimum', 'amount'],
    // Less than a unit is worth.
    [{ amount: '0.000000001' }, 409, 'below_minimum', 'amount'],
    [{ amount: '10.01' }, 402, 'insufficient_balance'],
    [{ amount: '0' }, 400, null, 'amount'],
    [{ amount: '-1' }, 400, null, 'amount'],
    [{ amount: '1e3' }, 400, null, 'amount'],
    [{ amount: 5 }, 400, null, 'amount'],
    [{}, 400, null, 'amount'],
    [{ amount: '5', address: other.wallet.address }, 404, 'wallet_not_found', 'address'],
    [{ amount: '5', address: 'somewhere' }, 400, 'invalid_address', 'address'],
    [{ amount: '5', address: `${holder.wallet.address}0` }, 400, 'invalid_address', 'address'],
    [{ amount: '5', asset: 'gold' }, 400, null, 'asset'],
  ]
  for (const [body, status, code, param] of rows) assertRefused(await withdraw(paid, holder, body), status, code, param)
  const byKey = await withdraw(paid, { token: holder.apiKey }, { amount: '5' })
  assertRefused(byKey, 403, 'wrong_credential')
  const path = `/v1/account/withdrawals/${(await accepted(other, { amount: '5' })).id}`
  assertRefused(await api(paid.stack.baseUrl, 'GET', path, { token: holder.token }), 404, 'withdrawal_not_found')
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [10, 10])
  assert.equal(await paid.has('coin', holder.wallet), 0n)
})

test('credits are not coin: they pay for requests and cannot be withdrawn', async () => {
  const holder = await newHolder(paid)
  assertRefused(await withdraw(paid, holder, { amount: '5' }), 402, 'insufficient_balance')
})

test('concurrent withdrawals never exceed the balance', async () => {
  const holder = await newHolder(paid, '10', NOTHING)
  const many = await Promise.all(Array.from({ length: 12 }, () => withdraw(paid, holder, { amount: '4' })))
  const taken = many.filter(({ status }) => status === 202)
  assert.equal(taken.length, 2, many.map(({ text }) => text).join('\n'))
  for (const { body } of taken) await sent(holder, body)
  await paid.audited()
  assert.equal(await paid.has('coin', holder.wallet), parseEther('8'))
  assert.deepEqual(await coinOf(paid, holder), [2, 2])
})

test('an Idempotency-Key makes retries safe', async () => {
  const holder = await newHolder(paid, '10', NOTHING)
  const send = () => withdraw(paid, holder, { amount: '4' }, { 'idempotency-key': 'again' })
  const [first, second] = [await send(), await send()]
  assert.equal(second.body.id, first.body.id)
  await sent(holder, first.body)
  await paid.audited()
  assert.equal(await paid.has('coin', holder.wallet), parseEther('4'))
})

test('pending withdrawals are bounded; further ones are rejected until some are sent', async () => {
  const holder = await newHolder(paid, '20', NOTHING)
  await paid.chain.client.setAutomine(false)
  for (let i = 0; i < 5; i++) await accepted(holder, { amount: '2' })
  assertRefused(await withdraw(paid, holder, { amount: '2' }), 429, 'rate_limited')
  await paid.chain.client.setAutomine(true)
  await paid.chain.client.mine({ blocks: 1 })
  await until('all are sent', async () => (await paid.has('coin', holder.wallet)) === parseEther('10'))
  await paid.audited()
  await accepted(holder, { amount: '2' })
})

test('control dies before sending, and again between sending and the block: the withdrawal is sent once', async () => {
  const holder = await newHolder(paid, '10', NOTHING)
  paid.rpc.refused.add('eth_sendRawTransaction')
  const withdrawal = await accepted(holder, { amount: '4' })
  await until('it is signed', async () => {
    const found = await paid.pool.query(`SELECT FROM chain_transactions WHERE ref = $1`, [`${withdrawal.id}#1`])
    return found.rowCount === 1
  })
  await paid.stack.control.kill9()
  await paid.chain.client.setAutomine(false)
  paid.rpc.refused.clear()
  await paid.stack.control.start()
  await until('it is in the pool', async () => (await paid.chain.pooled()).length > 0)
  await paid.stack.control.kill9()
  await paid.chain.client.setAutomine(true)
  await paid.chain.client.mine({ blocks: 1 })
  await paid.stack.control.start()
  await sent(holder, withdrawal)
  await paid.audited()
  assert.equal(await paid.has('coin', holder.wallet), parseEther('4'))
})

test('without the chain a withdrawal waits in escrow, and is sent when the chain is back', async () => {
  const holder = await newHolder(paid, '10', NOTHING)
  paid.rpc.down = true
  const withdrawal = await accepted(holder, { amount: '4' })
  assert.deepEqual(await coinOf(paid, holder), [6, 6])
  paid.rpc.down = false
  await sent(holder, withdrawal)
})

test('a treasury without tokens: the withdrawal waits, and is sent once they arrive', async () => {
  const holder = await newHolder(paid, '60000', NOTHING)
  const withdrawal = await accepted(holder, { amount: '50000' })
  const log = () => paid.stack.logs().includes('treasury_short')
  await until('it was tried', log)
  const metrics = await (await fetch(paid.stack.controlMetricsUrl)).text()
  assert.match(metrics, /^sluice_control_withdrawals_sending 1$/m)
  assert.match(metrics, /^sluice_control_withdrawal_oldest_seconds \d/m)
  assert.deepEqual(await coinOf(paid, holder), [10_000, 10_000])
  for (let i = 0; i < 6; i++) await paid.chain.fillTreasury()
  await sent(holder, withdrawal)
  await paid.audited()
  assert.equal(await paid.has('coin', holder.wallet), parseEther('50000'))
})

test('a withdrawal of a token that the treasury lacks does not delay those of another token', async () => {
  const [waits, holder] = [await newHolder(paid, '400000', NOTHING), await newHolder(paid, '10', NOTHING)]
  const first = await accepted(waits, { amount: '300000' })
  await sent(holder, await accepted(holder, { amount: '4', asset: 'stablecoin' }))
  assert.equal(await paid.has('coin', waits.wallet), 0n)
  await paid.chain.mint('coin', paid.chain.treasury.address, parseEther('300000'))
  await sent(waits, first)
})

test('a treasury funded between two checks: the withdrawal is sent, not returned', async () => {
  const holder = await newHolder(paid, '60000', NOTHING)
  paid.rpc.meanwhile.set('eth_estimateGas', async () => {
    for (let i = 0; i < 6; i++) await paid.chain.fillTreasury()
  })
  const before = await paid.chain.balanceOf('coin', paid.chain.treasury.address)
  assert.ok(before < parseEther('55000'), 'the treasury has too little at first')
  const withdrawal = await accepted(holder, { amount: '55000' })
  await sent(holder, withdrawal)
  assert.equal(paid.rpc.meanwhile.size, 0)
  await paid.audited()
  assert.equal(await paid.has('coin', holder.wallet), parseEther('55000'))
})

test('a withdrawal in an unknown state at the node does not delay later ones', async () => {
  const [odd, holder] = [await newHolder(paid, '10', NOTHING), await newHolder(paid, '10', NOTHING)]
  const wallet = odd.wallet.address.slice(2).toLowerCase()
  // Not what nodes say of a contract that refuses.
  const error = { code: -32_000, message: 'invalid opcode: INVALID' }
  paid.rpc.altered = ({ id, method, params }, answer) =>
    method === 'eth_estimateGas' && JSON.stringify(params).includes(wallet) ? { id, error } : answer
  const first = await accepted(odd, { amount: '4' })
  await sent(holder, await accepted(holder, { amount: '4' }))
  paid.rpc.altered = undefined
  await sent(odd, first)
})

test('a wallet that the token rejects: the coin is returned to the account', async () => {
  const holder = await newHolder(paid, '10', NOTHING)
  // Tokens refuse the zero address, which nobody can sign for: the operator links it.
  const linked = await paid.stack.cli('wallet', 'link', holder.accountId, zeroAddress)
  assert.equal(linked.code, 0, linked.stderr)
  const { id } = await accepted(holder, { amount: '4', address: zeroAddress })
  const status = async () => (await listOf(paid, holder, 'withdrawals')).find((one) => one.id === id)?.status
  await until('it came back', async () => (await status()) === 'returned')
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [10, 10])
  await paid.stack.cli('wallet', 'unlink', holder.accountId, zeroAddress)
})

test('after a reorg the withdrawal is sent again, once', async () => {
  const holder = await newHolder(paid, '10', NOTHING)
  const snapshot = await paid.chain.client.snapshot()
  const block = Number(await paid.chain.client.getBlockNumber())
  const withdrawal = await accepted(holder, { amount: '4' })
  await sent(holder, withdrawal)
  // Control sends it again as soon as it sees that the block is gone.
  await paid.chain.client.setAutomine(false)
  await paid.chain.client.revert({ id: snapshot })
  assert.equal(await paid.has('coin', holder.wallet), 0n)
  // What was read of the blocks that are gone is read again.
  await paid.pool.query('UPDATE chain_identity SET scanned_block = $1', [block])
  await paid.chain.resume()
  await until('it is there again', async () => (await paid.has('coin', holder.wallet)) === parseEther('4'))
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [6, 6])
})
