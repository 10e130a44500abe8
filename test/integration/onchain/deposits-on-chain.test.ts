// Goal: tokens that a linked wallet sends to the treasury are credited to its account exactly once, and those of others to
// nobody. Method: a whole stack on a real chain; every test ends with the audit, which compares the book with the chain.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { keccak256, parseEther } from 'viem'
import { chat, completion } from '../../support/clients/chatClient.ts'
import { coinOf, listOf, newHolder } from '../../support/clients/moneyClient.ts'
import { credential, signedTransfer } from '../../support/clients/mppClient.ts'
import { codeOf, HELLO, post, quote } from '../../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

let paid: PaidStack

before(async () => {
  paid = await startPaidStack({ limits: { signInRequestBurst: 1_000, apiRequestBurst: 10_000 } })
})
afterEach(() => paid.audited())
after(() => paid.stop())

test('tokens sent by a linked wallet are credited once, at their value; those of other wallets are not', async () => {
  const [holder, stranger] = [await newHolder(paid), await paid.chain.newPayer()]
  const { address } = paid.chain.treasury
  await paid.chain.transfer('coin', holder.wallet, address, parseEther('3'))
  await paid.chain.transfer('stablecoin', holder.wallet, address, 1_500_000n)
  await paid.chain.transfer('coin', stranger, address, parseEther('7'))
  await paid.chain.transfer('coin', holder.wallet, paid.chain.relayer.address, parseEther('1'))
  await paid.chain.transfer('coin', holder.wallet, address, 1n)
  await paid.audited()
  // Three coins and a dollar and a half of the stablecoin, which is three coins.
  assert.deepEqual(await coinOf(paid, holder), [6, 6])
  const list = await listOf(paid, holder, 'deposits')
  assert.deepEqual(
    list.map((entry) => [entry['source'], entry['asset'], entry.amount.usd, entry.status]),
    [
      ['transfer', 'stablecoin', '1.5', 'credited'],
      ['transfer', 'coin', '1.5', 'credited'],
    ],
  )
  completion(await chat(paid.stack.baseUrl, holder.apiKey, { model: 'test/small', max_tokens: 100 }))
})

test('control restarts: transfers during the restart are credited, earlier ones not again', async () => {
  const holder = await newHolder(paid)
  const { address } = paid.chain.treasury
  await paid.chain.transfer('coin', holder.wallet, address, parseEther('1'))
  await paid.audited()
  await paid.stack.control.kill9()
  await paid.chain.transfer('coin', holder.wallet, address, parseEther('2'))
  await paid.stack.control.start()
  await until('both are credited', async () => (await coinOf(paid, holder))[0] === 3)
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [3, 3])
})

test('a transfer credited as a deposit does not also pay for a request', async () => {
  const holder = await newHolder(paid)
  const challenge = (await quote(paid)).challenges[1]
  assert.ok(challenge)
  const raw = await signedTransfer(paid.chain, challenge, holder.wallet)
  await paid.chain.client.sendRawTransaction({ serializedTransaction: raw })
  await until('it is credited', async () => (await listOf(paid, holder, 'deposits')).length === 1)
  const payload = { type: 'hash', hash: keccak256(raw) }
  const reply = await post(paid, HELLO, { authorization: credential(challenge, payload, holder.wallet) })
  assert.equal(codeOf(reply), 'mpp_invalid_challenge', reply.text)
  await paid.audited()
  const [{ amount } = { amount: { coin: '' } }] = await listOf(paid, holder, 'deposits')
  assert.deepEqual(await coinOf(paid, holder), [Number(amount.coin), Number(amount.coin)])
})
