// Goal: a paid request that breaks off anywhere costs what was produced, and the rest goes back. Method: a whole stack with
// a real chain; a provider that fails or breaks off, a node that is down, clients that leave.
import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import type { PaymentPayload } from '@x402/core/types'
import { FUNDS } from '../support/chain.ts'
import { arrivals, codeOf, HELLO, payFor, paymentHeader, post, quote } from '../support/clients/paidClient.ts'
import { type PaidStack, startPaidStack } from '../support/paidStack.ts'
import { until } from '../support/stack.ts'

let paid: PaidStack

before(async () => {
  paid = await startPaidStack({
    limits: { quoteWindowMs: 60_000 },
    catalog: {
      models: [
        { id: 'test/small' },
        { id: 'test/failing', upstream: 'failing,error=500' },
        { id: 'test/strict', upstream: 'strict,error=422' },
        { id: 'test/cut', upstream: 'cut,chunks=20,delay=5,cut=10' },
        { id: 'test/late', upstream: 'late,slow_headers=1,chunks=100,delay=1000' },
      ],
    },
  })
})
afterEach(async () => {
  paid.rpc.down = false
  await paid.audited()
})
after(() => paid.stop())

const send = (payload: PaymentPayload, body: unknown = HELLO) => post(paid, body, paymentHeader(payload))

test('a provider that fails or rejects: the payment is refunded in full', async () => {
  const other = await paid.chain.newPayer()
  for (const [model, status] of [
    ['test/failing', 502],
    ['test/strict', 400],
  ] as const) {
    const body = { ...HELLO, model }
    const reply = await send(await payFor(await quote(paid, body), other), body)
    assert.equal(reply.status, status, reply.text)
    const id = reply.headers.get('x-request-id')
    await paid.audited()
    assert.equal(await paid.has('stablecoin', other), FUNDS)
    const receipt = (await (await fetch(paid.url(`/v1/receipts/${id}`))).json()) as {
      status: string
      paid: { amount: string; refund: { amount: string } }
    }
    assert.equal(receipt.status, 'failed')
    assert.equal(receipt.paid.refund.amount, receipt.paid.amount)
  }
})

test('a stream that the provider interrupts: the output so far is charged, the rest is refunded', async () => {
  const other = await paid.chain.newPayer()
  const body = { ...HELLO, model: 'test/cut', stream: true }
  const reply = await send(await payFor(await quote(paid, body), other), body)
  assert.equal(reply.status, 200)
  const receipt = JSON.parse(
    reply.text
      .split('\n')
      .find((line) => line.startsWith(': receipt '))
      ?.slice(10) ?? '{}',
  )
  assert.equal(receipt.status, 'partial')
  await paid.audited()
  const amount = BigInt(receipt.paid.amount)
  const units = BigInt(receipt.paid.units)
  const back = (amount * (units - BigInt(receipt.cost.units))) / units
  assert.equal(await paid.has('stablecoin', other), FUNDS - amount + back)
  assert.ok(back > 0n && back < amount)
})

test('no node responds: 503, and no payment is taken', async () => {
  const payload = await payFor(await quote(paid), await paid.chain.newPayer())
  const before = await arrivals(paid)
  paid.rpc.down = true
  const reply = await send(payload)
  assert.equal(reply.status, 503, reply.text)
  assert.equal(codeOf(reply), 'chain_unavailable')
  assert.ok(Number(reply.headers.get('retry-after')) > 0)
  assert.equal(await arrivals(paid), before)
  paid.rpc.down = false
  assert.equal(codeOf(await send(payload)), 'paid')
})

test('a client that disconnects while its payment settles gets a full refund', async () => {
  const other = await paid.chain.newPayer()
  const payload = await payFor(await quote(paid), other)
  await paid.chain.client.setAutomine(false)
  const leaving = new AbortController()
  const before = await arrivals(paid)
  const request = fetch(paid.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...paymentHeader(payload) },
    body: JSON.stringify(HELLO),
    signal: leaving.signal,
  }).catch(() => undefined)
  await until('it is claimed', async () => (await arrivals(paid)) === before + 1)
  leaving.abort()
  await request
  await paid.chain.client.mine({ blocks: 1 })
  await paid.chain.client.setAutomine(true)
  await paid.audited()
  assert.equal(await paid.has('stablecoin', other), FUNDS)
})

test('a client that disconnects before the response head is charged its prompt, and the rest is refunded', async () => {
  const other = await paid.chain.newPayer()
  const body = { ...HELLO, model: 'test/late', stream: true }
  const payload = await payFor(await quote(paid, body), other)
  const before = (await paid.stack.provider.log()).length
  await paid.stack.provider.hold()
  const leaving = new AbortController()
  const request = fetch(paid.url('/v1/chat/completions'), {
    method: 'POST',
    headers: { 'content-type': 'application/json', ...paymentHeader(payload) },
    body: JSON.stringify(body),
    signal: leaving.signal,
  }).catch(() => undefined)
  await paid.stack.provider.leaveHeld({ destroy: () => leaving.abort() })
  await request
  await until('the provider has answered', async () => (await paid.stack.provider.log()).length > before)
  await paid.audited()
  const line = (await paid.stack.provider.log())[before]
  assert.equal(line?.outcome, 'client_gone')
  const response = await fetch(paid.url(`/v1/receipts/${line.request_id}`))
  const receipt = (await response.json()) as { status: string; error: string; cost: { units: string } }
  assert.deepEqual([receipt.status, receipt.error], ['partial', 'client_gone'])
  const units = BigInt(receipt.cost.units)
  assert.ok(units >= 1_000n && units < 50_000n, `${units} units`)
  assert.equal(await paid.has('stablecoin', other), FUNDS - (units + 999n) / 1_000n)
})
