import assert from 'node:assert/strict'
import test, { after, before } from 'node:test'
import { Receipt } from 'mppx'
import { Mppx } from 'mppx/client'
import OpenAI from 'openai'
import { FUNDS, type Payer } from '../support/chain.ts'
import { mppxCharge } from '../support/clients/mppxCharge.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'

let paid: PaidStack

before(async () => {
  paid = await startPaidStack()
})
after(() => paid.stop())

function payingFetch(payer: Payer): typeof fetch {
  return Mppx.create({ methods: [mppxCharge(paid, payer)], polyfill: false } as never).fetch as typeof fetch
}

const BODY = { model: 'test/small', messages: [{ role: 'user' as const, content: 'Hello' }] }

test('mppx pays a chat request; its receipt is accepted', async () => {
  const payer = await paid.chain.newPayer()
  const response = await payingFetch(payer)(paid.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify(BODY),
  })
  const text = await response.text()
  assert.equal(response.status, 200, text)
  const answer = JSON.parse(text) as {
    receipt: { cost: { units: string }; paid: { amount: string; transaction: string } }
  }
  const receipt = Receipt.fromResponse(response)
  assert.equal(receipt.status, 'success')
  assert.equal(receipt.method, 'evm')
  assert.equal(receipt.reference, answer.receipt.paid.transaction)
  assert.equal(response.headers.get('payment-response'), null)
  await paid.audited()
  const amount = BigInt(answer.receipt.paid.amount)
  const back = amount - (BigInt(answer.receipt.cost.units) + 999n) / 1_000n
  assert.equal(await paid.has('stablecoin', payer), FUNDS - amount + back)
})

test('the openai package pays through mppx, streamed and not', async () => {
  const payer = await paid.chain.newPayer()
  const client = new OpenAI({
    baseURL: paid.url('/v1'),
    apiKey: 'paid-per-request',
    maxRetries: 0,
    fetch: payingFetch(payer),
  })
  assert.ok(((await client.chat.completions.create(BODY)).usage?.total_tokens ?? 0) > 0)
  let content = ''
  for await (const chunk of await client.chat.completions.create({ ...BODY, stream: true })) {
    content += chunk.choices[0]?.delta.content ?? ''
  }
  assert.notEqual(content, '')
  await paid.audited()
})
