// Goal: a deposit is credited to the account of its wallet exactly once, whatever is sent twice, taken back or dies on
// its way, and nothing else is. Method: a whole stack on a real chain; every test ends with the audit, which compares the
// book with the chain.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { getAddress, parseAbi } from 'viem'
import { FUNDS } from '../../support/chain.ts'
import { api, apiOk, assertRefused } from '../../support/clients/apiClient.ts'
import { chat, completion } from '../../support/clients/chatClient.ts'
import {
  coinOf,
  deposit,
  type Holder,
  listOf,
  newHolder,
  type SignedDeposit,
  signDeposit,
  untilCredited,
} from '../../support/clients/moneyClient.ts'
import { codeOf, HELLO, payFor, paymentHeader, post, quote } from '../../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

/** Two dollars of the stablecoin, which are four of the coin at half a dollar each. */
const TWO = 2_000_000n
let paid: PaidStack

before(async () => {
  const rates = { apiRequestsPerMinute: 60_000, apiRequestBurst: 10_000, signInRequestBurst: 1_000 }
  paid = await startPaidStack({ limits: { ...rates, depositCheckMs: 50 } })
})
afterEach(() => paid.mended())
after(() => paid.stop())

/** Nothing was taken and nothing was credited. */
async function assertUntouched(holder: Holder): Promise<void> {
  await paid.audited()
  assert.equal(await paid.has('stablecoin', holder.wallet), FUNDS)
  assert.deepEqual(await coinOf(paid, holder), [0, 0])
}

test('a wallet without gas deposits with a signature, and the coin pays for requests', async () => {
  const holder = await newHolder(paid)
  await paid.chain.client.setBalance({ address: holder.wallet.address, value: 0n })
  const funding = await apiOk<{ address: string; assets: Array<Record<string, unknown>> }>(
    paid.stack.baseUrl,
    'GET',
    '/v1/account/funding',
    { token: holder.apiKey },
  )
  assert.equal(funding.address, paid.chain.treasury.address)
  assert.deepEqual(funding.assets[0]?.['eip712'], {
    name: 'USD Coin',
    version: '2',
    chainId: paid.chain.chainId,
    verifyingContract: getAddress(paid.chain.contracts.stablecoin),
  })
  const made = await deposit(paid, holder, await signDeposit(paid, holder.wallet, TWO))
  assert.equal(made.status, 202, made.text)
  assert.deepEqual(made.body.amount, { units: '2000000000', usd: '2', coin: '4' })
  assert.deepEqual(
    [made.body.status, made.body.token_amount, made.body['source']],
    ['pending', '2000000', 'authorization'],
  )
  await untilCredited(paid, holder, made.body.id)
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [4, 4])
  assert.equal(await paid.has('stablecoin', holder.wallet), FUNDS - TWO)
  assert.match((await listOf(paid, holder, 'deposits'))[0]?.transaction ?? '', /^0x[0-9a-f]{64}$/)
  completion(await chat(paid.stack.baseUrl, holder.apiKey, { model: 'test/small', max_tokens: 100 }))
  const other = await newHolder(paid)
  const path = `/v1/account/deposits/${made.body.id}`
  assertRefused(await api(paid.stack.baseUrl, 'GET', path, { token: other.token }), 404, 'deposit_not_found')
})

test('an API key deposits to its own account from its linked wallet', async () => {
  const holder = await newHolder(paid)
  const made = await deposit(paid, { token: holder.apiKey }, await signDeposit(paid, holder.wallet, TWO))
  assert.equal(made.status, 202, made.text)
  await untilCredited(paid, holder, made.body.id)
})

test('a contract wallet deposits only with a signature that its contract accepts', async () => {
  const [owner, other] = [await newHolder(paid), await newHolder(paid)]
  const address = await paid.chain.newContractWallet(owner.wallet.address)
  await paid.chain.mint('stablecoin', address, FUNDS)
  const linked = await paid.stack.cli('wallet', 'link', owner.accountId, address)
  assert.equal(linked.code, 0, linked.stderr)
  const wallet = { ...owner.wallet, address }
  assertRefused(
    await deposit(paid, owner, await signDeposit(paid, wallet, TWO, {}, other.wallet)),
    400,
    'authorization_invalid',
    'signature',
  )
  const made = await deposit(paid, owner, await signDeposit(paid, wallet, TWO, {}, owner.wallet))
  assert.equal(made.status, 202, made.text)
  await untilCredited(paid, owner, made.body.id)
  assert.equal(await paid.chain.balanceOf('stablecoin', address), FUNDS - TWO)
})

test('each invalid authorization is rejected with its code, and no tokens are taken', async () => {
  const [holder, stranger] = [await newHolder(paid), await newHolder(paid)]
  const seconds = Math.floor(Date.now() / 1_000)
  const sign = (changes: Parameters<typeof signDeposit>[3], value = TWO, signer = holder.wallet) =>
    signDeposit(paid, holder.wallet, value, changes, signer)
  const good = await sign({})
  const changed = (more: object): SignedDeposit => ({ ...good, authorization: { ...good.authorization, ...more } })
  const rows: Array<[what: string, body: unknown, code: string | null, param: string]> = [
    ['another wallet', await signDeposit(paid, stranger.wallet, TWO), 'authorization_invalid', 'authorization.from'],
    ['another receiver', await sign({ to: stranger.wallet.address }), 'authorization_invalid', 'authorization.to'],
    ['another signer', await sign({}, TWO, stranger.wallet), 'authorization_invalid', 'signature'],
    ['another amount than signed', changed({ value: '3000000' }), 'authorization_invalid', 'signature'],
    ['less than the minimum', await sign({}, 999_999n), 'below_minimum', 'authorization.value'],
    ['nothing', await sign({}, 0n), 'below_minimum', 'authorization.value'],
    ['more than the wallet has', await sign({}, FUNDS + 1n), 'authorization_invalid', 'authorization.value'],
    ['more than an account holds', await sign({}, 1n << 200n), 'authorization_invalid', 'authorization.value'],
    ['expired', await sign({ validBefore: String(seconds - 1) }), 'authorization_invalid', 'authorization.validBefore'],
    [
      'about to expire',
      await sign({ validBefore: String(seconds + 30) }),
      'authorization_invalid',
      'authorization.validBefore',
    ],
    [
      'not valid yet',
      await sign({ validAfter: String(seconds + 600) }),
      'authorization_invalid',
      'authorization.validAfter',
    ],
    ['a number that is none', changed({ value: '1e6' }), 'authorization_invalid', 'authorization.value'],
    ['a short nonce', changed({ nonce: '0x01' }), 'authorization_invalid', 'authorization.nonce'],
    ['an address that is none', changed({ from: '0x12' }), 'invalid_address', 'authorization.from'],
    ['no signature', { ...good, signature: '0x' }, 'authorization_invalid', 'signature'],
    ['the twin with the other s', { ...good, signature: twinOf(good.signature) }, 'authorization_invalid', 'signature'],
    [
      'a contract that is not deployed',
      { ...good, signature: `0x${'6492'.repeat(40)}` },
      'authorization_invalid',
      'signature',
    ],
    ['no authorization', { signature: good.signature }, null, 'authorization'],
    ['a member too many', { ...good, asset: 'coin' }, null, 'asset'],
  ]
  for (const [what, body, code, param] of rows) {
    const answer = await deposit(paid, holder, body)
    assertRefused(answer, 400, code, param)
    assert.ok(answer.text.length > 0, what)
  }
  assertRefused(await deposit(paid, { token: '' }, good), 401, 'invalid_api_key')
  await assertUntouched(holder)
})

const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n

function twinOf(signature: string): string {
  const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`)
  const v = signature.endsWith('1b') ? '1c' : '1b'
  return `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${v}`
}

test('an authorization is used once: sent again, concurrently, in another notation, or under a new Idempotency-Key', async () => {
  const holder = await newHolder(paid)
  const body = await signDeposit(paid, holder.wallet, TWO)
  const many = await Promise.all(Array.from({ length: 20 }, () => deposit(paid, holder, body)))
  const taken = many.filter(({ status }) => status === 202)
  assert.equal(taken.length, 1, many.map(({ text }) => text).join('\n'))
  for (const answer of many.filter(({ status }) => status !== 202)) assertRefused(answer, 409, 'authorization_used')
  const first = taken[0]
  assert.ok(first)
  await untilCredited(paid, holder, first.body.id)
  const { authorization, signature } = body
  const written = {
    ...authorization,
    value: `0${authorization.value}`,
    nonce: authorization.nonce.toUpperCase().replace('X', 'x'),
  }
  for (const again of [body, { signature, authorization: written }]) {
    assertRefused(await deposit(paid, holder, again, { 'idempotency-key': 'k1' }), 409, 'authorization_used')
  }
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [4, 4])
  assert.equal(await paid.has('stablecoin', holder.wallet), FUNDS - TWO)
})

test('an Idempotency-Key makes retries safe', async () => {
  const holder = await newHolder(paid)
  const body = await signDeposit(paid, holder.wallet, TWO)
  const send = () => deposit(paid, holder, body, { 'idempotency-key': 'again' })
  const first = await send()
  await untilCredited(paid, holder, first.body.id)
  const second = await send()
  assert.deepEqual([second.status, second.body.id], [202, first.body.id], second.text)
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [4, 4])
})

test('an authorization cancelled by its wallet counts as used', async () => {
  const holder = await newHolder(paid)
  const body = await signDeposit(paid, holder.wallet, TWO)
  const nonce = body.authorization.nonce as `0x${string}`
  const { chainId, contracts, client, relayer } = paid.chain
  const signature = await holder.wallet.signTypedData({
    domain: { name: 'USD Coin', version: '2', chainId, verifyingContract: contracts.stablecoin },
    types: {
      CancelAuthorization: [
        { name: 'authorizer', type: 'address' },
        { name: 'nonce', type: 'bytes32' },
      ],
    },
    primaryType: 'CancelAuthorization',
    message: { authorizer: holder.wallet.address, nonce },
  })
  const [r, s, v] = [signature.slice(0, 66), `0x${signature.slice(66, 130)}`, Number.parseInt(signature.slice(130), 16)]
  const abi = parseAbi([
    'function cancelAuthorization(address authorizer, bytes32 nonce, uint8 v, bytes32 r, bytes32 s)',
  ])
  const args = [holder.wallet.address, nonce, v, r as `0x${string}`, s as `0x${string}`] as const
  // Number 0 of the development accounts sends, so that the relayer's nonce stays the gateway's.
  assert.notEqual(client.account.address, relayer.address)
  const hash = await client.writeContract({
    address: contracts.stablecoin,
    abi,
    functionName: 'cancelAuthorization',
    args,
  })
  await client.waitForTransactionReceipt({ hash })
  assertRefused(await deposit(paid, holder, body), 409, 'authorization_used')
  await assertUntouched(holder)
})

test('an authorization that pays for a request is not a deposit, before and after its block', async () => {
  const holder = await newHolder(paid)
  const payment = await payFor(await quote(paid), holder.wallet)
  const { nonce } = (payment.payload as unknown as SignedDeposit).authorization
  const body = await signDeposit(paid, holder.wallet, TWO, { nonce })
  await paid.chain.client.setAutomine(false)
  const paying = post(paid, HELLO, paymentHeader(payment))
  const claimed = 'SELECT FROM payments WHERE payer = $1'
  const payer = holder.wallet.address.toLowerCase()
  await until('it is claimed', async () => (await paid.pool.query(claimed, [payer])).rowCount === 1)
  assertRefused(await deposit(paid, holder, body), 409, 'authorization_used')
  await paid.chain.client.setAutomine(true)
  await paid.chain.client.mine({ blocks: 1 })
  assert.equal(codeOf(await paying), 'paid')
  assertRefused(await deposit(paid, holder, body), 409, 'authorization_used')
  await paid.audited()
  assert.deepEqual(await coinOf(paid, holder), [0, 0])
})

test('without the chain a deposit is rejected, and no tokens are taken', async () => {
  const holder = await newHolder(paid)
  const body = await signDeposit(paid, holder.wallet, TWO)
  paid.rpc.down = true
  assertRefused(await deposit(paid, holder, body), 503, 'chain_unavailable')
  paid.rpc.down = false
  await assertUntouched(holder)
  const made = await deposit(paid, holder, body)
  assert.equal(made.status, 202, made.text)
  await untilCredited(paid, holder, made.body.id)
})

test('another deposit of the wallet waits until the first is included in a block', async () => {
  const holder = await newHolder(paid)
  await paid.chain.client.setAutomine(false)
  const first = await deposit(paid, holder, await signDeposit(paid, holder.wallet, TWO))
  assert.equal(first.status, 202, first.text)
  const body = await signDeposit(paid, holder.wallet, TWO)
  assertRefused(await deposit(paid, holder, body), 429, 'payment_in_flight')
  await paid.chain.client.setAutomine(true)
  await paid.chain.client.mine({ blocks: 1 })
  await untilCredited(paid, holder, first.body.id)
  const second = await deposit(paid, holder, body)
  await untilCredited(paid, holder, second.body.id)
  assert.deepEqual((await coinOf(paid, holder))[0], 8)
})
