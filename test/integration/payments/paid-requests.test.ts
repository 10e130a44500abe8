import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { x402HTTPClient } from '@x402/core/client'
import type { PaymentPayload } from '@x402/core/types'
import { assertDescribed } from '../../support/answerSchemas.ts'
import { FUNDS, type Payer } from '../../support/chain.ts'
import type { ErrorBody, Reply } from '../../support/clients/chatClient.ts'
import {
  type Asset,
  arrivals,
  codeOf,
  HELLO,
  payFor,
  paymentHeader,
  post,
  quote,
} from '../../support/clients/paidClient.ts'
import { signPayment } from '../../support/clients/payloads.ts'
import { OtlpReceiver } from '../../support/otlpReceiver.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { conventionalSpans, values } from '../../support/traceClient.ts'

const OTHER = /^The payment is for another request, body or price;/
const DIFFERS = /^The payment does not match the current quote;/
const UNVERIFIED = /^The payment does not verify;/
const ORDER = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
let receiver: OtlpReceiver
let paid: PaidStack
let payer: Payer

before(async () => {
  receiver = await OtlpReceiver.start()
  paid = await startPaidStack({
    env: { OTEL_EXPORTER_OTLP_ENDPOINT: receiver.url, OTEL_BSP_SCHEDULE_DELAY: '20' },
    limits: { quoteWindowMs: 60_000 },
    catalog: {
      models: [{ id: 'test/small' }],
    },
  })
  payer = await paid.chain.newPayer()
})
afterEach(() => paid.audited())
after(() => Promise.all([paid.stop(), receiver.stop()]))

type Payload = PaymentPayload & { readonly payload: Record<string, unknown> }

const send = (payload: PaymentPayload, body: unknown = HELLO) => post(paid, body, paymentHeader(payload))
const signed = async (asset: Asset = 'stablecoin', body: unknown = HELLO): Promise<Payload> =>
  (await payFor(await quote(paid, body), payer, asset)) as Payload
test('the quote: the hold of the body, in headers and in the body, with the problem fields', async () => {
  const { required, reply } = await quote(paid)
  const body = JSON.parse(reply.text) as Record<string, Record<string, string>> & { status: number }
  assertDescribed('POST', '/x402/v1/chat/completions', 402, body)
  assert.deepEqual(body['error'], {
    message: 'Payment is required; pay the quote in this answer.',
    type: 'payment_required',
    code: 'x402',
    param: null,
  })
  assert.equal(body['type'], 'https://paymentauth.org/problems/payment-required')
  assert.equal(body.status, 402)
  // 5 bytes of text are 3 tokens, and 8 a message, 16 a request; 100 tokens of output.
  assert.equal(body['quote']?.['units'], String((3 + 8 + 16) * 1_000 + 100 * 2_000))
  const [stablecoin, coin] = required.accepts
  assert.equal(stablecoin?.amount, '227')
  assert.equal(coin?.amount, String(227_000n * 2_000_000_000n))
  assert.deepEqual(stablecoin?.extra?.['name'], 'USD Coin')
  assert.equal(coin?.extra?.['assetTransferMethod'], 'permit2')
  assert.equal(required.resource.url, paid.url('/v1/chat/completions'))
  assert.deepEqual((body['payment'] as unknown as { x402: unknown }).x402, required)
  // The reference client reads it from the headers.
  const response = new Response(null, { status: 402, headers: reply.headers })
  const client = new x402HTTPClient({} as never)
  assert.deepEqual(
    client.getPaymentRequiredResponse((name) => response.headers.get(name), undefined),
    required,
  )
})

test('a quote and the request that pays it have their spans', async () => {
  const { reply } = await quote(paid)
  const served = await send(await signed())
  const idOf = ({ headers }: { readonly headers: Headers }): string => headers.get('x-request-id') ?? assert.fail()
  const shown = ['http.route', 'http.response.status_code', 'sluice.error.code', 'sluice.request.status']
  const route = '/x402/v1/chat/completions'
  const [asked, ...none] = await conventionalSpans(receiver, idOf(reply), 1)
  assert.deepEqual([asked.status, none, ...values(asked, shown)], ['', [], route, 402, 'x402', undefined])
  const [own, attempt] = await conventionalSpans(receiver, idOf(served), 2)
  assert.deepEqual(values(own, shown), [route, 200, undefined, 'ok'])
  assert.equal(attempt?.name, 'chat chat-small')
})

test('an invalid request is rejected before its price is demanded', async () => {
  assert.equal((await post(paid, '{')).status, 400)
  assert.equal(codeOf(await post(paid, { ...HELLO, model: 'no/such' })), 'model_not_found')
  assert.equal(codeOf(await post(paid, { ...HELLO, batch: true })), 'batch_unavailable')
  assert.equal((await post(paid, HELLO, {}, '/v1/nothing')).status, 404)
})

test('replayed: authorization_used', async () => {
  const payload = await signed()
  assert.equal(codeOf(await send(payload)), 'paid')
  const again = await send(payload)
  assert.equal(codeOf(again), 'authorization_used')
  assert.equal(again.status, 402)
  assert.ok(again.headers.get('payment-required'))
})

for (const asset of ['stablecoin', 'coin'] as const) {
  test(`${asset}: of 50 concurrent duplicates one is served, and one transfer is made`, async () => {
    const other = await paid.chain.newPayer()
    const payload = await payFor(await quote(paid), other, asset)
    const before = await arrivals(paid)
    const replies = await Promise.all(Array.from({ length: 50 }, () => send(payload)))
    const codes = replies.map(codeOf)
    assert.equal(codes.filter((code) => code === 'paid').length, 1, codes.join())
    for (const code of codes) assert.ok(['paid', 'payment_in_flight', 'authorization_used'].includes(code), code)
    for (const reply of replies) if (reply.status === 429) assert.ok(reply.headers.get('retry-after'))
    assert.equal(await arrivals(paid), before + 1)
  })
}

/** Asserts that a payment is refused by this code, with a text that says this. */
function assertUnpaid(what: string, reply: Reply, code: string, says: RegExp): void {
  const { error } = JSON.parse(reply.text) as ErrorBody
  assert.deepEqual([reply.status, error.code], [402, code], `${what}: ${reply.text}`)
  assert.match(error.message, says, what)
}

test('quote_mismatch says what differs: the body, price, offer, asset or chain', async () => {
  const payload = await signed()
  const elsewhere = await send(payload, { ...HELLO, messages: [{ role: 'user', content: 'other' }] })
  assertUnpaid('another body', elsewhere, 'quote_mismatch', OTHER)
  const accepted = payload.accepted
  const changes: Record<string, readonly [object, RegExp]> = {
    amount: [{ ...accepted, amount: '1' }, DIFFERS],
    payTo: [{ ...accepted, payTo: payer.address }, DIFFERS],
    network: [{ ...accepted, network: 'eip155:8453' }, DIFFERS],
    scheme: [{ ...accepted, scheme: 'upto' }, DIFFERS],
    asset: [{ ...accepted, asset: paid.chain.contracts.coin }, OTHER],
    'a token that is not taken': [{ ...accepted, asset: payer.address }, /^The payment is in another token;/],
    'no quote': [{ ...accepted, extra: { ...accepted.extra, quote: undefined } }, OTHER],
    'another quote': [{ ...accepted, extra: { ...accepted.extra, quote: `1999999999999.${'A'.repeat(43)}` } }, OTHER],
  }
  for (const [what, [changed, says]] of Object.entries(changes)) {
    assertUnpaid(what, await send({ ...payload, accepted: changed as never }), 'quote_mismatch', says)
  }
  assert.equal(codeOf(await send(payload)), 'paid')
})

test('quote_mismatch says what the signed payment itself has otherwise', async () => {
  const payload = await signed()
  const authorization = payload.payload['authorization'] as Record<string, string>
  const coin = await signed('coin')
  const permit = coin.payload['permit2Authorization'] as Record<string, unknown>
  const permitted = permit['permitted'] as Record<string, unknown>
  const permits = (change: object) => ({
    ...coin,
    payload: { ...coin.payload, permit2Authorization: { ...permit, ...change } },
  })
  const authorizes = (change: object) => ({
    ...payload,
    payload: { ...payload.payload, authorization: { ...authorization, ...change } },
  })
  const changes: ReadonlyArray<readonly [PaymentPayload, RegExp]> = [
    [authorizes({ to: payer.address }), /^The payment goes to another address;/],
    [authorizes({ value: '1' }), /^The payment is of another amount;/],
    [permits({ permitted: { ...permitted, amount: '1' } }), /^The payment is of another amount;/],
    [
      permits({ permitted: { ...permitted, token: paid.chain.contracts.stablecoin } }),
      /^The payment is in another token;/,
    ],
    [permits({ spender: payer.address }), /^The payment names another spender;/],
    [{ ...payload, payload: coin.payload }, /^The payment is made in another way than the token takes;/],
  ]
  for (const [changed, says] of changes) assertUnpaid(String(says), await send(changed), 'quote_mismatch', says)
})

test('payment_invalid says what is wrong with a signature or its time', async () => {
  const payload = await signed()
  const authorization = payload.payload['authorization'] as Record<string, string>
  const signature = String(payload.payload['signature'])
  const s = ORDER - BigInt(`0x${signature.slice(66, 130)}`)
  const twin = `${signature.slice(0, 66)}${s.toString(16).padStart(64, '0')}${signature.endsWith('1b') ? '1c' : '1b'}`
  const otherByte = signature.slice(10, 12) === '00' ? '01' : '00'
  const otherChain = (await signPayment(payer, { ...payload.accepted, network: 'eip155:8453' })).payload
  const changes: Record<string, readonly [object, RegExp]> = {
    'the twin with the other s': [{ signature: twin }, /the higher of its two s values/],
    'a signature of another': [
      { signature: `${signature.slice(0, 10)}${otherByte}${signature.slice(12)}` },
      UNVERIFIED,
    ],
    'a wallet that is not deployed': [
      { signature: `0x${'00'.repeat(32)}${'6492'.repeat(16)}` },
      /deploy the wallet first/,
    ],
    'no signature': [{ signature: '0x' }, /^The payment has no signature; sign it/],
    'another nonce': [{ authorization: { ...authorization, nonce: `0x${'14'.repeat(32)}` } }, UNVERIFIED],
    'an early window': [{ authorization: { ...authorization, validAfter: '4000000000' } }, /does not hold yet/],
    'a past window': [{ authorization: { ...authorization, validBefore: '1' } }, /too short a time or has expired/],
    'another payer': [{ authorization: { ...authorization, from: paid.chain.relayer.address } }, UNVERIFIED],
    'signed for another chain': [otherChain, UNVERIFIED],
  }
  for (const [what, [change, says]] of Object.entries(changes)) {
    const reply = await send({ ...payload, payload: { ...payload.payload, ...change } })
    assertUnpaid(what, reply, 'payment_invalid', says)
  }
  for (const header of ['not base64 %', JSON.stringify(payload), Buffer.from('{}').toString('base64')]) {
    const reply = await post(paid, HELLO, { 'payment-signature': header })
    assertUnpaid(header, reply, 'payment_invalid', /must be base64 of an x402 version 2 payment/)
  }
  const before = await post(paid, HELLO, { 'x-payment': paymentHeader(payload)['payment-signature'] ?? '' })
  assertUnpaid('version 1', before, 'payment_invalid', /^X-PAYMENT is of x402 version 1/)
  assert.equal(codeOf(await send(payload)), 'paid')
})

test('a Permit2 nonce in another notation is the same payment, and so is its twin with the other s', async () => {
  let payload = await signed('coin')
  const nonceOf = () => (payload.payload['permit2Authorization'] as Record<string, string>)['nonce'] ?? ''
  // The longest nonces leave no room for a zero before them.
  while (nonceOf().length >= 78) payload = await signed('coin')
  assert.equal(codeOf(await send(payload)), 'paid')
  const permit = payload.payload['permit2Authorization'] as Record<string, string>
  const nonce = `0${permit['nonce']}`
  const again = await send({ ...payload, payload: { ...payload.payload, permit2Authorization: { ...permit, nonce } } })
  assert.equal(codeOf(again), 'authorization_used')
  const signature = String(payload.payload['signature'])
  const s = (ORDER - BigInt(`0x${signature.slice(66, 130)}`)).toString(16).padStart(64, '0')
  const twin = `${signature.slice(0, 66)}${s}${signature.endsWith('1b') ? '1c' : '1b'}`
  assert.equal(
    codeOf(await send({ ...payload, payload: { ...payload.payload, signature: twin } })),
    'authorization_used',
  )
})

test('payment_conflict: two payments, or a payment and a key; a Bearer token that is not a key is ignored', async () => {
  const payload = await signed()
  const header = paymentHeader(payload)
  const key = `Bearer sk_${'a'.repeat(43)}`
  const others: Array<Record<string, string>> = [
    { authorization: 'Payment abc' },
    { authorization: key },
    { 'x-api-key': key.slice(7) },
  ]
  for (const more of others) {
    const reply = await post(paid, HELLO, { ...header, ...more })
    assert.equal(reply.status, 400)
    assert.equal(codeOf(reply), 'payment_conflict')
  }
  // Neither the first nor the last one counts, whoever joins them.
  for (const authorization of [`${key}, Payment abc`, `Payment abc, ${key}`, 'Payment abc, Payment def']) {
    assert.equal(codeOf(await post(paid, HELLO, { authorization })), 'payment_conflict')
  }
  const twice = { 'payment-signature': `${header['payment-signature']},${header['payment-signature']}` }
  assert.equal(codeOf(await post(paid, HELLO, twice)), 'payment_conflict')
  assert.equal((await post(paid, HELLO, { authorization: key })).status, 402)
  assert.equal(codeOf(await post(paid, HELLO, { ...header, authorization: 'Bearer none' })), 'paid')
})

test('insufficient_funds and allowance_required, with their minute', async () => {
  const poor = await paid.chain.newPayer({ stablecoin: 1n, approve: false })
  const quoted = await quote(paid)
  const reply = await send(await payFor(quoted, poor))
  assert.equal(codeOf(reply), 'insufficient_funds')
  assert.equal(reply.headers.get('retry-after'), '60')
  await paid.chain.mint('stablecoin', poor.address, FUNDS)
  const soon = await send(await payFor(quoted, poor))
  assert.equal(codeOf(soon), 'insufficient_funds')
  assert.ok(Number(soon.headers.get('retry-after')) <= 60)
  assert.equal(codeOf(await send(await payFor(quoted, poor, 'coin'))), 'allowance_required')
  assert.equal(codeOf(await send(await payFor(quoted, poor, 'coin'))), 'insufficient_funds')
})
