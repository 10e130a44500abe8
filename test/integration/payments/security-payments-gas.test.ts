// Goal: whoever has gas spent for a payment pays for it. Method: the whole gateway on a real chain, with a smallest charge
// and blocks of 12 seconds in the payments file; clients that leave, bodies that a provider refuses, short signatures.

import assert from 'node:assert/strict'
import test, { after, afterEach, before } from 'node:test'
import { auditBook } from '../../../control/audit/runAudit.ts'
import { FUNDS, type Payer } from '../../support/chain.ts'
import { authorization, credential } from '../../support/clients/mppClient.ts'
import { codeOf, HELLO, payFor, paymentHeader, post, quote } from '../../support/clients/paidClient.ts'
import { signPayment } from '../../support/clients/payloads.ts'
import { limits } from '../../support/limits.ts'
import { type PaidStack, startPaidStack } from '../../support/paidStack.ts'
import { until } from '../../support/stack.ts'

const MIN_UNITS = 10_000_000
/** Of the stablecoin, for the smallest charge of a cent. */
const MIN_AMOUNT = 10_000n
const QUOTE_SECONDS = 60
const MARGIN_SECONDS = 30
let paid: PaidStack

before(async () => {
  paid = await startPaidStack({
    payments: { min_charge_usd: '0.01', block_seconds: 12 },
    limits: { quoteWindowMs: QUOTE_SECONDS * 1_000 },
    catalog: {
      models: [
        { id: 'test/small' },
        { id: 'test/dear', price: { input: '1', output: '1000' } },
        { id: 'test/failing', upstream: 'failing,error=500' },
        { id: 'test/strict', upstream: 'strict,error=422' },
      ],
    },
  })
})
afterEach(() => paid.mended())
after(() => paid.stop())

interface Amount {
  readonly units: string
}
interface Receipt {
  readonly status: string
  readonly error: string | null
  readonly cost: Amount
  readonly paid: Amount & { minimum_charge: Amount; settlement_fee: Amount; refund: Amount | null; transaction: string }
}

const send = async (payer: Payer, body: unknown = HELLO) =>
  post(paid, body, paymentHeader(await payFor(await quote(paid, body), payer)))

async function receiptOf(id: string): Promise<Receipt> {
  return (await (await fetch(paid.url(`/v1/receipts/${id}`))).json()) as Receipt
}

test('the quote is at least the smallest charge, states it, and leaves a margin for two blocks', async () => {
  const { required, reply } = await quote(paid)
  const { quote: shown } = JSON.parse(reply.text) as { quote: Amount & { minimum_charge: Amount & { usd: string } } }
  assert.equal(shown.units, String(MIN_UNITS))
  assert.equal(shown.minimum_charge.units, String(MIN_UNITS))
  assert.equal(shown.minimum_charge.usd, '0.01')
  assert.equal(required.accepts[0]?.amount, String(MIN_AMOUNT))
  assert.equal(required.accepts[0]?.maxTimeoutSeconds, QUOTE_SECONDS + MARGIN_SECONDS)
})

test('a request that costs less than the smallest charge is topped up to it, on the receipt and in the book', async () => {
  const payer = await paid.chain.newPayer()
  const reply = await send(payer)
  assert.equal(reply.status, 200, reply.text)
  const { id, receipt } = JSON.parse(reply.text) as { id: string; receipt: Receipt }
  await paid.audited()
  const stored = await receiptOf(id)
  const feeUnits = MIN_UNITS - Number(receipt.cost.units)
  assert.ok(feeUnits > 0 && feeUnits < MIN_UNITS)
  for (const { paid: shown } of [receipt, stored]) {
    assert.equal(shown.minimum_charge.units, String(MIN_UNITS))
    assert.equal(shown.settlement_fee.units, String(feeUnits))
    assert.equal(shown.refund, null)
  }
  const booked = await paid.pool.query<{ units: number; credit: string }>(
    `SELECT units, credit FROM transfers WHERE kind = 'settlement_fee' AND ref = $1`,
    [id],
  )
  assert.deepEqual(booked.rows, [{ units: feeUnits, credit: 'revenue' }])
  assert.equal(await paid.has('stablecoin', payer), FUNDS - MIN_AMOUNT)
  await paid.pool.query('UPDATE payments SET fee_units = fee_units - 1 WHERE id = $1', [id])
  const failed = (await auditBook(paid.pool, limits)).filter((check) => !check.ok).map((check) => check.name)
  assert.ok(failed.includes('every charge of a payment is topped up to the smallest one, once'), failed.join())
  await paid.pool.query('UPDATE payments SET fee_units = fee_units + 1 WHERE id = $1', [id])
})

test('a request that costs more pays no fee', async () => {
  const payer = await paid.chain.newPayer()
  const reply = await send(payer, { ...HELLO, model: 'test/dear' })
  const { receipt } = JSON.parse(reply.text) as { receipt: Receipt }
  assert.ok(Number(receipt.cost.units) > MIN_UNITS, receipt.cost.units)
  assert.equal(receipt.paid.settlement_fee.units, '0')
})

test('a provider that fails: full refund; one that rejects the input: full refund less the smallest charge', async () => {
  const payer = await paid.chain.newPayer()
  assert.equal((await send(payer, { ...HELLO, model: 'test/failing' })).status, 502)
  await paid.audited()
  assert.equal(await paid.has('stablecoin', payer), FUNDS)
  assert.equal(codeOf(await send(payer, { ...HELLO, model: 'test/strict' })), 'upstream_rejected')
  await paid.audited()
  assert.equal(await paid.has('stablecoin', payer), FUNDS - MIN_AMOUNT)
})

test('a client that disconnects while its payment settles is charged the smallest charge', async () => {
  const payer = await paid.chain.newPayer()
  const body = { ...HELLO, model: 'test/dear' }
  const headers = { 'content-type': 'application/json', ...paymentHeader(await payFor(await quote(paid, body), payer)) }
  await paid.chain.client.setAutomine(false)
  const leaving = new AbortController()
  const init = { method: 'POST', headers, body: JSON.stringify(body), signal: leaving.signal }
  const gone = assert.rejects(fetch(paid.url('/v1/chat/completions'), init))
  await until('the payment waits for a block', async () => (await paid.chain.pooled()).length === 1)
  leaving.abort()
  await gone
  await until('the proxy has seen it leave', async () => {
    const metrics = await (await fetch(paid.stack.metricsUrl)).text()
    return /^sluice_open_requests 0$/m.test(metrics)
  })
  await paid.chain.resume()
  await paid.audited()
  assert.equal(await paid.has('stablecoin', payer), FUNDS - MIN_AMOUNT)
  const found = await paid.pool.query<{ id: string; back_now: boolean }>(
    'SELECT id, back_now FROM payments WHERE payer = $1',
    [payer.address.toLowerCase()],
  )
  assert.equal(found.rows[0]?.back_now, false)
  const receipt = await receiptOf(found.rows[0]?.id ?? '')
  assert.equal(receipt.error, 'client_gone')
  assert.equal(receipt.paid.settlement_fee.units, String(MIN_UNITS))
  assert.notEqual(receipt.paid.refund, null)
})

test('a signature that may expire before its block is rejected before gas is spent', async () => {
  const payer = await paid.chain.newPayer()
  const before = paid.rpc.calls.filter((method) => method === 'eth_estimateGas').length
  const { required, challenges } = await quote(paid)
  const [offer] = required.accepts
  const [challenge] = challenges
  assert.ok(offer && challenge)
  const short = await signPayment(payer, { ...offer, maxTimeoutSeconds: MARGIN_SECONDS - 5 })
  const reply = await post(paid, HELLO, paymentHeader({ ...short, accepted: offer }))
  assert.equal(codeOf(reply), 'payment_invalid', reply.text)
  const validBefore = BigInt(Math.floor(Date.now() / 1_000) + MARGIN_SECONDS - 5)
  const payload = await authorization(challenge, payer, { validBefore })
  const second = await post(paid, HELLO, { authorization: credential(challenge, payload, payer) })
  assert.equal(codeOf(second), 'mpp_payment_expired', second.text)
  assert.equal(paid.rpc.calls.filter((method) => method === 'eth_estimateGas').length, before)
})
