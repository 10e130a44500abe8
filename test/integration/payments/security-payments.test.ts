// Goal: strangers without funds, and strangers who name somebody else's wallet, keep nobody from paying and leave
// nothing behind. Method: the whole gateway on a real chain, with clients at addresses of their own.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { encodeFunctionData, type Hex, parseAbi } from 'viem'
import { generatePrivateKey, privateKeyToAccount } from 'viem/accounts'
import type { Payer } from '../../support/chain.ts'
import type { Reply } from '../../support/clients/chatClient.ts'
import { credential, requestOf } from '../../support/clients/mppClient.ts'
import { type Asset, codeOf, HELLO, payFor, paymentHeader, post, quote } from '../../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

const STRANGERS = 30
const TRANSFER = parseAbi(['function transfer(address to, uint256 value) returns (bool)'])
const [CUSTOMER, STRANGER, OTHER_STRANGER] = ['198.51.100.1', '203.0.113.1', '203.0.113.2']
let paid: PaidStack
let customer: Payer

before(async () => {
  paid = await startPaidStack({
    env: { SLUICE_TRUSTED_PROXIES: '1' },
    limits: {
      paymentRefusalLogMs: 200,
      payerTransactionsInFlightMax: 2,
      contractChecksMax: 2,
      paymentRefusalBurst: 100,
      paymentRefusalsPerMinute: 1,
      // Answers of the node are held back until others have paid, which takes seconds on a busy machine.
      chainTimeoutMs: 30_000,
    },
  })
  customer = await paid.chain.newPayer()
})
afterEach(() => paid.mended())
after(() => paid.stop())

const send = (headers: Record<string, string>, from: string): Promise<Reply> =>
  post(paid, HELLO, { ...headers, 'x-forwarded-for': from })

const pay = async (payer = customer, from = CUSTOMER, asset: Asset = 'stablecoin'): Promise<string> =>
  codeOf(await send(paymentHeader(await payFor(await quote(paid), payer, asset)), from))

function newWallet(): Payer {
  const privateKey = generatePrivateKey()
  return { ...privateKeyToAccount(privateKey), privateKey }
}

/** Pays by the transaction that `sign` makes of a fresh challenge. */
async function payByTransaction(
  payer: Payer,
  from: string,
  changes: Partial<{ nonce: number; gas: bigint; maxFeePerGas: bigint }> = {},
): Promise<Reply> {
  const [, challenge] = (await quote(paid)).challenges
  assert.ok(challenge)
  const { amount, currency, recipient } = requestOf(challenge)
  const nonce = await paid.chain.client.getTransactionCount({ address: payer.address })
  const signature = await payer.signTransaction({
    type: 'eip1559',
    chainId: paid.chain.chainId,
    to: currency,
    nonce,
    gas: 100_000n,
    maxFeePerGas: 5_000_000_000n,
    maxPriorityFeePerGas: 0n,
    ...changes,
    data: encodeFunctionData({ abi: TRANSFER, args: [recipient, BigInt(amount)] }),
  })
  return send({ authorization: credential(challenge, { type: 'transaction', signature }, payer) }, from)
}

/** A payment in a victim's name that nobody has signed. */
async function garbage(victim: Payer): Promise<Record<string, string>> {
  const payload = await payFor(await quote(paid), victim)
  return paymentHeader({ ...payload, payload: { ...payload.payload, signature: `0x${'5a'.repeat(64)}1b` as Hex } })
}

async function stored(): Promise<number | undefined> {
  const found = await paid.pool.query<{ count: number }>(
    'SELECT (SELECT count(*) FROM payments) + (SELECT count(*) FROM chain_transactions) AS count',
  )
  return found.rows[0]?.count
}

test('transactions of wallets without money are rejected immediately without a trace, while a customer pays', async () => {
  const before = await stored()
  const wallets = Array.from({ length: STRANGERS }, newWallet)
  const flood = Promise.all(wallets.map((wallet) => payByTransaction(wallet, STRANGER)))
  const paidFor = await pay()
  const codes = (await flood).map(codeOf)
  assert.equal(paidFor, 'paid')
  for (const code of codes) assert.ok(['insufficient_funds', 'payments_busy'].includes(code), code)
  const refused = wallets[codes.indexOf('insufficient_funds')]
  assert.ok(refused)
  // The customer's refund asks for the same.
  await paid.audited()
  const asked = paid.rpc.calls.length
  const again = await payByTransaction(refused, STRANGER)
  assert.equal(codeOf(again), 'insufficient_funds')
  assert.match(again.headers.get('retry-after') ?? '', /^[1-9]\d?$/)
  assert.ok(!paid.rpc.calls.slice(asked).includes('eth_getTransactionCount'))
  await paid.audited()
  // Of the customer: its payment, that transaction, and the one of its refund.
  assert.equal(await stored(), (before ?? 0) + 3)
  const metrics = await (await fetch(paid.stack.controlMetricsUrl)).text()
  const count = Number(/payments_refused_total\{code="insufficient_funds"\} (\d+)/.exec(metrics)?.[1])
  assert.ok(count >= codes.filter((code) => code === 'insufficient_funds').length)
  await until('a summary is logged', async () => paid.stack.logs().includes('payments_refused'))
})

test('a transaction that no block can include is rejected before it is stored', async () => {
  const payer = await paid.chain.newPayer()
  const before = await stored()
  const nonce = await paid.chain.client.getTransactionCount({ address: payer.address })
  assert.ok(nonce > 0)
  const bad: Array<[what: string, changes: Parameters<typeof payByTransaction>[2]]> = [
    ['a nonce that is used', { nonce: nonce - 1 }],
    ['a nonce behind a gap', { nonce: nonce + 1 }],
    ['a fee below that of the block', { maxFeePerGas: 1n }],
    ['less gas than the transfer takes', { gas: 22_000n }],
  ]
  for (const [what, changes] of bad) {
    const reply = await payByTransaction(payer, STRANGER, changes)
    assert.equal(codeOf(reply), 'payment_invalid', `${what}: ${reply.text}`)
  }
  const tokenless = newWallet()
  await paid.chain.client.setBalance({ address: tokenless.address, value: 10n ** 18n })
  const penniless = await payByTransaction(tokenless, STRANGER)
  assert.equal(codeOf(penniless), 'insufficient_funds', penniless.text)
  assert.doesNotMatch(penniless.text, /wei for gas/)
  await paid.chain.client.setBalance({ address: payer.address, value: 1n })
  const reply = await payByTransaction(payer, STRANGER)
  assert.equal(codeOf(reply), 'insufficient_funds', reply.text)
  assert.match(reply.text, /wei for gas/)
  assert.equal(await stored(), before)
})

test('a transaction that the node rejects ends immediately', async () => {
  const payer = await paid.chain.newPayer()
  paid.rpc.refused.add('eth_sendRawTransaction')
  assert.equal(codeOf(await payByTransaction(payer, CUSTOMER)), 'settlement_failed')
  paid.rpc.refused.clear()
  const open = await paid.pool.query(`SELECT FROM chain_transactions WHERE state = 'pending'`)
  assert.equal(open.rowCount, 0)
  assert.equal(codeOf(await payByTransaction(payer, CUSTOMER)), 'paid')
})

test('pending transactions use no slot of signed authorizations', async () => {
  const [first, second] = [await paid.chain.newPayer(), await paid.chain.newPayer()]
  const third = await paid.chain.newPayer()
  await paid.chain.client.setAutomine(false)
  const waiting = [first, second].map((payer) => payByTransaction(payer, CUSTOMER))
  await until('both wait for a block', async () => (await paid.chain.pooled()).length === 2)
  assert.equal(codeOf(await payByTransaction(third, CUSTOMER)), 'payments_busy')
  const signed = pay()
  await until('the authorization is sent', async () => (await paid.chain.pooled()).length === 3)
  await paid.chain.resume()
  assert.deepEqual((await Promise.all(waiting)).map(codeOf), ['paid', 'paid'])
  assert.equal(await signed, 'paid')
})

test('a garbage signature in the name of a wallet does not lock it, and uses no slot of its payments', async () => {
  const victim = await paid.chain.newPayer()
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  // The node takes long to say whether a contract signed.
  let checks = 0
  paid.rpc.held = ({ method, params }) => {
    const isCheck = method === 'eth_call' && JSON.stringify(params).includes('0x1626ba7e')
    if (isCheck) checks++
    return isCheck ? released : undefined
  }
  const attack = await Promise.all(Array.from({ length: 4 }, () => garbage(victim)))
  const codes: string[] = []
  const replies = attack.map(async (headers) => codes.push(codeOf(await send(headers, STRANGER))))
  await until('as many are checked as may be', async () => checks === 2 && codes.length === 2)
  for (let i = 0; i < 3; i++) assert.equal(await pay(victim), 'paid')
  release()
  await Promise.all(replies)
  assert.deepEqual(codes, ['payments_busy', 'payments_busy', 'payment_invalid', 'payment_invalid'])
})

test('a hash in the name of a wallet does not lock it', async () => {
  const victim = await paid.chain.newPayer()
  const [, challenge] = (await quote(paid)).challenges
  assert.ok(challenge)
  const payload = { type: 'hash', hash: `0x${'12'.repeat(32)}` }
  let release: () => void = () => undefined
  const released = new Promise<void>((resolve) => {
    release = resolve
  })
  let isAsked = false
  paid.rpc.held = ({ params }) => {
    if (!JSON.stringify(params ?? []).includes(payload.hash)) return undefined
    isAsked = true
    return released
  }
  const reply = send({ authorization: credential(challenge, payload, victim) }, STRANGER)
  await until('the chain is asked', async () => isAsked)
  assert.equal(await pay(victim), 'paid')
  release()
  assert.equal(codeOf(await reply), 'payment_invalid')
})

test('chain calls for rejected payments of one address are bounded, and other payers still pay', async () => {
  const limit = 100
  const spend = async (): Promise<string> => codeOf(await send(await garbage(customer), OTHER_STRANGER))
  const codes: string[] = []
  while (!codes.includes('payments_busy') && codes.length <= limit + 10) codes.push(await spend())
  assert.ok(codes.length > limit, `${codes.length} were checked`)
  // Readings of the reserve ask the chain as well.
  let asked = 0
  const isOfPayer = (text: string) => text.toLowerCase().includes(customer.address.slice(2).toLowerCase())
  paid.rpc.held = ({ params }) => {
    if (isOfPayer(JSON.stringify(params ?? []))) asked++
    return undefined
  }
  assert.equal(await spend(), 'payments_busy')
  assert.equal(asked, 0)
  assert.equal(codeOf(await send(await garbage(customer), STRANGER)), 'payment_invalid')
  assert.equal(await pay(customer, OTHER_STRANGER), 'paid')
  const payer = await paid.chain.newPayer()
  assert.equal(codeOf(await payByTransaction(payer, OTHER_STRANGER)), 'paid')
})
