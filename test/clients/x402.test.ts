import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { x402Client } from '@x402/core/client'
import { decodePaymentResponseHeader } from '@x402/core/http'
import { ExactEvmScheme } from '@x402/evm/exact/client'
import { wrapFetchWithPayment } from '@x402/fetch'
import OpenAI from 'openai'
import { parseEther } from 'viem'
import type { Payer } from '../support/chain.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'

let paid: PaidStack

before(async () => {
  paid = await startPaidStack()
})
after(() => paid.stop())

type Asset = 'coin' | 'stablecoin'

/** The reference client; it pays in the named token. */
function payingFetch(payer: Payer, asset: Asset): typeof fetch {
  const token = paid.chain.contracts[asset].toLowerCase()
  const client = new x402Client((_version, accepts) => {
    const found = accepts.find((offer) => offer.asset.toLowerCase() === token)
    assert.ok(found, 'the token is not offered')
    return found
  })
    .register('eip155:*', new ExactEvmScheme(payer as never))
    .setSpendControls(false)
  return wrapFetchWithPayment(fetch, client) as typeof fetch
}

interface Paid {
  readonly units: string
  readonly asset: string
  readonly amount: string
  readonly token: string
  readonly network: string
  readonly payer: string
  readonly transaction: string
  readonly refund: { units: string; amount: string; transaction: string | null } | null
}

interface Answer {
  readonly id: string
  readonly usage: { total_tokens: number }
  readonly receipt: { cost: { units: string }; paid: Paid; request_id: string }
}

const START = { stablecoin: 1_000_000_000n, coin: parseEther('1000') }
/** USD of an atomic unit in units, as a fraction. */
const WORTH = { stablecoin: [1_000n, 1n], coin: [1n, 2_000_000_000n] } as const

for (const asset of ['stablecoin', 'coin'] as const) {
  test(`@x402/fetch pays for a chat request in the ${asset}; the rest is refunded`, async () => {
    const payer = await paid.chain.newPayer()
    const response = await payingFetch(payer, asset)(paid.url('/v1/chat/completions'), {
      method: 'POST',
      headers: { 'content-type': 'application/json' },
      body: JSON.stringify({ model: 'test/small', max_tokens: 500, messages: [{ role: 'user', content: 'Hello' }] }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    const answer = JSON.parse(text) as Answer
    const settled = decodePaymentResponseHeader(response.headers.get('payment-response') ?? '')
    assert.equal(settled.success, true)
    assert.equal(settled.payer?.toLowerCase(), payer.address.toLowerCase())
    assert.equal(response.headers.get('x-cost-units'), null)
    assert.equal(response.headers.get('cache-control'), 'private')
    const { receipt } = answer
    assert.equal(receipt.paid.transaction, settled.transaction)
    assert.equal(receipt.paid.asset, asset)
    assert.equal(receipt.paid.network, 'eip155:31337')
    assert.equal(receipt.request_id, answer.id)
    await paid.audited()
    const [numerator, denominator] = WORTH[asset]
    const amount = BigInt(receipt.paid.amount)
    const units = BigInt(receipt.paid.units)
    assert.equal(units, (amount * numerator) / denominator)
    const back = (amount * (units - BigInt(receipt.cost.units))) / units
    assert.equal(await paid.has(asset, payer), START[asset] - amount + back)
    const public_ = await fetch(paid.url(`/v1/receipts/${answer.id}`))
    const booked = (await public_.json()) as Answer['receipt']
    assert.equal(booked.paid.refund?.amount, String(back))
    assert.match(booked.paid.refund?.transaction ?? '', /^0x[0-9a-f]{64}$/)
    assert.equal(booked.cost.units, receipt.cost.units)
  })
}

test('@x402/fetch pays for a streamed request; the receipt line states the amount paid', async () => {
  const payer = await paid.chain.newPayer()
  const response = await payingFetch(payer, 'stablecoin')(paid.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ model: 'test/small', stream: true, messages: [{ role: 'user', content: 'Hello' }] }),
  })
  assert.equal(response.status, 200)
  assert.equal(decodePaymentResponseHeader(response.headers.get('payment-response') ?? '').success, true)
  const text = await response.text()
  const line = text.split('\n').find((one) => one.startsWith(': receipt '))
  const receipt = JSON.parse(line?.slice(10) ?? '') as Answer['receipt']
  assert.equal(receipt.paid.payer, payer.address.toLowerCase())
  assert.ok(text.endsWith('data: [DONE]\n\n'))
  await paid.audited()
})

test('the openai package pays through the wrapper, streamed and not, with the API key that it always sends', async () => {
  const payer = await paid.chain.newPayer()
  const client = new OpenAI({
    baseURL: paid.url('/v1'),
    apiKey: 'paid-per-request',
    fetch: payingFetch(payer, 'stablecoin'),
    maxRetries: 0,
  })
  const request = { model: 'test/small', messages: [{ role: 'user' as const, content: 'Hello' }] }
  const answer = await client.chat.completions.create(request)
  assert.ok((answer.usage?.total_tokens ?? 0) > 0)
  const stream = await client.chat.completions.create({ ...request, stream: true })
  let content = ''
  for await (const chunk of stream) content += chunk.choices[0]?.delta.content ?? ''
  assert.notEqual(content, '')
  await paid.audited()
})
