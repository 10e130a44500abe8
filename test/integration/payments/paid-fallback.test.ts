// Goal: a request that is paid by itself costs the most over the models that may serve it, is charged for the one that served, and
// the rest goes back. Method: x402 payments on a chain, for a model that fails with a dearer one behind it.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { Payer } from '../../support/chain.ts'
import { completion } from '../../support/clients/chatClient.ts'
import { HELLO, payFor, paymentHeader, post, quote } from '../../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { chargeOf } from '../../support/reconcile.ts'

const DEAR = { input: 7_000, cached: 7_000, output: 11_000 }

let paid: PaidStack
let payer: Payer

before(async () => {
  paid = await startPaidStack({
    limits: { breakerFailures: 1_000_000 },
    catalog: {
      models: [
        { id: 'test/down', upstream: 'mock,error=500' },
        {
          id: 'test/off',
          price: { input: '9', output: '13' },
          routes: [{ provider: 'mock', model: 'mock', enabled: false }],
        },
        { id: 'test/dear', upstream: 'mock,prompt=20,completion=9', price: { input: '7', output: '11' } },
      ],
    },
  })
  payer = await paid.chain.newPayer()
})
after(() => paid.stop())

const priceOf = async (body: object): Promise<string | undefined> =>
  (await quote(paid, body)).required.accepts[0]?.amount

test('the price is that of the dearest model, whether or not it can be asked now', async () => {
  const [down, dear] = [
    await priceOf({ ...HELLO, model: 'test/down' }),
    await priceOf({ ...HELLO, model: 'test/dear' }),
  ]
  assert.notEqual(down, dear)
  assert.equal(await priceOf({ ...HELLO, model: 'test/down', models: ['test/dear'] }), dear)
  const withOff = await priceOf({ ...HELLO, model: 'test/down', models: ['test/dear', 'test/off'] })
  assert.ok(BigInt(withOff ?? 0) > BigInt(dear ?? 0))
})

test('the model that serves is charged, and the rest of the payment goes back', async () => {
  const body = { ...HELLO, model: 'test/down', models: ['test/dear'] }
  const before = await paid.has('stablecoin', payer)
  const reply = await post(paid, body, paymentHeader(await payFor(await quote(paid, body), payer)))
  const { receipt, model } = completion(reply)
  assert.deepEqual([model, receipt.model, reply.headers.get('x-served-model')], ['test/dear', 'test/dear', 'test/dear'])
  const usage = { prompt_tokens: 20, completion_tokens: 9 } as Parameters<typeof chargeOf>[0]
  assert.equal(receipt.cost.units, String(chargeOf(usage, DEAR)))
  await paid.audited()
  const kept = before - (await paid.has('stablecoin', payer))
  assert.ok(kept >= BigInt(receipt.cost.units) / 1_000n)
  assert.ok(kept < BigInt((await priceOf(body)) ?? 0))
})

test('where no model serves, the payment goes back', async () => {
  const body = { ...HELLO, model: 'test/down', models: ['test/off'] }
  const before = await paid.has('stablecoin', payer)
  const reply = await post(paid, body, paymentHeader(await payFor(await quote(paid, body), payer)))
  assert.equal(reply.status, 502, reply.text)
  await paid.audited()
  assert.equal(await paid.has('stablecoin', payer), before)
})
