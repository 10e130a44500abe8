import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { keccak256 } from 'viem'
import type { Challenge } from '../../../contract/payments/mpp.ts'
import type { Payer } from '../../support/chain.ts'
import type { ErrorBody } from '../../support/clients/chatClient.ts'
import { authorization, credential, permit2, requestOf, signedTransfer } from '../../support/clients/mppClient.ts'
import { codeOf, HELLO, post, quote } from '../../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'

let paid: PaidStack
let payer: Payer

before(async () => {
  paid = await startPaidStack()
  payer = await paid.chain.newPayer()
})
afterEach(() => paid.audited())
after(() => paid.stop())

const send = (authorization: string, body: unknown = HELLO, path?: string) => post(paid, body, { authorization }, path)

async function challengeFor(asset: 'stablecoin' | 'coin', body: unknown = HELLO): Promise<Challenge> {
  const { challenges } = await quote(paid, body)
  const challenge = challenges[asset === 'stablecoin' ? 0 : 1]
  assert.ok(challenge)
  return challenge
}

test('the stablecoin is offered first, by authorization; the coin by permit2, transaction or hash', async () => {
  const { challenges, reply } = await quote(paid)
  assert.deepEqual(
    challenges.map((challenge) => requestOf(challenge).methodDetails.credentialTypes),
    [['authorization'], ['permit2', 'transaction', 'hash']],
  )
  const header = reply.headers.get('www-authenticate') ?? ''
  for (const { id } of challenges) assert.ok(header.includes(`id="${id}"`))
  assert.match(reply.headers.get('content-type') ?? '', /^application\/problem\+json/)
  assert.equal(reply.headers.get('cache-control'), 'no-store')
})

test('authorization, once; afterwards its challenge counts as paid', async () => {
  const challenge = await challengeFor('stablecoin')
  const header = credential(challenge, await authorization(challenge, payer), payer)
  assert.equal(codeOf(await send(header)), 'paid')
  assert.equal(codeOf(await send(header)), 'mpp_invalid_challenge')
})

test('permit2 with the witness that names the challenge', async () => {
  const challenge = await challengeFor('coin')
  assert.equal(codeOf(await send(credential(challenge, await permit2(challenge, payer, 7n), payer))), 'paid')
  const other = await challengeFor('coin')
  const payload = { ...(await permit2(other, payer, 8n)), witness: { challengeHash: `0x${'11'.repeat(32)}` } }
  assert.equal(codeOf(await send(credential(other, payload, payer))), 'payment_invalid')
})

test('a transaction signed by the payer is sent, once', async () => {
  const challenge = await challengeFor('coin')
  const signature = await signedTransfer(paid.chain, challenge, payer)
  const header = credential(challenge, { type: 'transaction', signature }, payer)
  assert.equal(codeOf(await send(header)), 'paid')
  assert.equal(codeOf(await send(header)), 'mpp_invalid_challenge')
})

test('a transfer by the payer counts for only one challenge', async () => {
  const challenge = await challengeFor('coin')
  const raw = await signedTransfer(paid.chain, challenge, payer)
  await paid.chain.client.sendRawTransaction({ serializedTransaction: raw })
  const payload = { type: 'hash', hash: keccak256(raw) }
  const other = await challengeFor('coin')
  assert.equal(codeOf(await send(credential(other, payload, payer))), 'payment_invalid')
  const thief = await paid.chain.newPayer()
  assert.equal(codeOf(await send(credential(challenge, payload, thief))), 'payment_invalid')
  const header = credential(challenge, payload, payer)
  assert.equal(codeOf(await send(header)), 'paid')
  assert.equal(codeOf(await send(header)), 'mpp_invalid_challenge')
})

test('transactions of another kind', async () => {
  const challenge = await challengeFor('coin')
  const other = await challengeFor('coin')
  const stranger = await paid.chain.newPayer()
  const payloads: Record<string, unknown> = {
    'another amount': { type: 'transaction', signature: await signedTransfer(paid.chain, other, payer) },
    'another signer': { type: 'transaction', signature: await signedTransfer(paid.chain, challenge, stranger) },
    garbage: { type: 'transaction', signature: '0x02deadbeef' },
    'a hash that nobody knows': { type: 'hash', hash: `0x${'12'.repeat(32)}` },
  }
  for (const [what, payload] of Object.entries(payloads)) {
    const reply = await send(credential(challenge, payload, payer))
    assert.equal(codeOf(reply), 'payment_invalid', `${what}: ${reply.text}`)
  }
})

test('mpp_malformed_credential', async () => {
  const challenge = await challengeFor('stablecoin')
  const payload = await authorization(challenge, payer)
  const bad = {
    'no source': credential(challenge, payload, payer, { source: undefined }),
    'a source that is no account': credential(challenge, payload, payer, { source: 'did:web:x' }),
    'no payload': credential(challenge, undefined, payer),
    'no challenge': credential(challenge, payload, payer, { challenge: undefined }),
    'no credential behind the scheme': 'Payment',
    'not base64url': 'Payment {"a":1}',
    'not JSON': `Payment ${Buffer.from('hello').toString('base64url')}`,
  }
  for (const [what, header] of Object.entries(bad)) {
    const reply = await send(header)
    assert.equal(codeOf(reply), 'mpp_malformed_credential', what)
    const { type, status, quote: quoted } = JSON.parse(reply.text) as Record<string, unknown>
    assert.equal(type, 'https://paymentauth.org/problems/malformed-credential')
    assert.equal(status, 402)
    assert.ok(quoted)
    assert.ok(reply.headers.get('www-authenticate'))
  }
})

test('mpp_invalid_challenge: altered, for another body, for another path', async () => {
  const challenge = await challengeFor('stablecoin')
  const payload = await authorization(challenge, payer)
  for (const changes of [{ realm: 'other' }, { id: `${challenge.id}x` }, { expires: '2099-01-01T00:00:00Z' }]) {
    const header = credential({ ...challenge, ...changes }, payload, payer)
    assert.equal(codeOf(await send(header)), 'mpp_invalid_challenge', JSON.stringify(changes))
  }
  const header = credential(challenge, payload, payer)
  const otherBody = { ...HELLO, messages: [{ role: 'user', content: 'hallo' }] }
  assert.equal(codeOf(await send(header, otherBody)), 'mpp_invalid_challenge')
})

test('mpp_invalid_payload', async () => {
  const challenge = await challengeFor('stablecoin')
  const payload = await authorization(challenge, payer)
  const bad: Record<string, unknown> = {
    'no type': { ...payload, type: undefined },
    'a type that is not offered': { type: 'hash', hash: `0x${'12'.repeat(32)}` },
    'no nonce': { ...payload, nonce: undefined },
    'a number for a text': { ...payload, value: 5 },
    'no signature': { ...payload, signature: undefined },
  }
  for (const [what, wrong] of Object.entries(bad)) {
    assert.equal(codeOf(await send(credential(challenge, wrong, payer))), 'mpp_invalid_payload', what)
  }
})

test('mpp_payment_expired, payment_invalid and quote_mismatch', async () => {
  const challenge = await challengeFor('stablecoin')
  const nowSeconds = BigInt(Math.floor(Date.now() / 1_000))
  const valid = await authorization(challenge, payer)
  const stranger = paid.chain.relayer.address
  const cases: Array<[code: string, says: RegExp, payload: Record<string, unknown>, changes?: object]> = [
    ['mpp_payment_expired', /expired/, await authorization(challenge, payer, { validBefore: nowSeconds })],
    ['payment_invalid', /name the challenge/, await authorization(challenge, payer, { nonce: `0x${'13'.repeat(32)}` })],
    ['payment_invalid', /hold yet/, await authorization(challenge, payer, { validAfter: nowSeconds + 60n })],
    ['quote_mismatch', /of another amount/, await authorization(challenge, payer, { value: 1n })],
    ['quote_mismatch', /to another address/, await authorization(challenge, payer, { to: payer.address })],
    ['payment_invalid', /account of another chain/, valid, { source: `did:pkh:eip155:1:${payer.address}` }],
    [
      'payment_invalid',
      /^source is not the account/,
      valid,
      { source: `did:pkh:eip155:${paid.chain.chainId}:${stranger}` },
    ],
    ['payment_invalid', /does not verify/, { ...valid, validAfter: '1' }],
    ['payment_invalid', /has no signature/, { ...valid, signature: '0x' }],
  ]
  for (const [code, says, payload, changes] of cases) {
    const reply = await send(credential(challenge, payload, payer, changes))
    assert.equal(codeOf(reply), code, reply.text)
    assert.match((JSON.parse(reply.text) as ErrorBody).error.message, says)
  }
})

test('an Accept-Payment header without evm/charge gets no challenge', async () => {
  const reply = await post(paid, HELLO, { 'accept-payment': 'evm/charge;q=0, tempo/*' })
  assert.equal(reply.status, 402)
  assert.equal(reply.headers.get('www-authenticate'), null)
  assert.ok(reply.headers.get('payment-required'))
  const malformed = await post(paid, HELLO, { 'accept-payment': ';;;' })
  assert.ok(malformed.headers.get('www-authenticate'))
})
