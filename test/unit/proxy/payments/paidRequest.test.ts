import assert from 'node:assert/strict'
import { hash } from 'node:crypto'
import test from 'node:test'
import { type ErrorCode, GatewayError } from '../../../../contract/errors/errors.ts'
import { toBase64Json } from '../../../../contract/payments/encoding.ts'
import type { PaymentAsset, PaymentTerms } from '../../../../contract/payments/terms.ts'
import { type HoldWaiter, LOST_ANSWER } from '../../../../proxy/admission/holds.ts'
import { amountFor, x402Offers } from '../../../../proxy/payments/offers.ts'
import { PaidRequest, type PaymentServices } from '../../../../proxy/payments/paidRequest.ts'
import type { Exchange } from '../../../../proxy/server/exchange.ts'
import { limits } from '../../../support/limits.ts'

const BODY = Buffer.from('{}')
const ASSET: PaymentAsset = {
  id: 'stablecoin',
  address: `0x${'11'.repeat(20)}` as const,
  decimals: 6,
  name: 'USD Coin',
  version: '2',
  method: 'eip3009',
  usdUnits: 1_000_000_000,
}
const TERMS: PaymentTerms = {
  chainId: 31_337,
  payTo: `0x${'22'.repeat(20)}` as const,
  assets: [ASSET],
  agentRegistry: null,
  spender: `0x${'33'.repeat(20)}` as const,
  quoteSecret: Buffer.alloc(32, 7),
  minUnits: 0,
  marginSeconds: 8,
}
const PRICED = {
  path: '/x402/v1/chat/completions',
  bodySha256: hash('sha256', BODY, 'buffer'),
  sheetVersion: 1,
  coinUsdUnits: 500_000_000,
  units: 4_000,
}

/** How a request is refused whose payment control answers with a code. */
async function refusalFor(row: ErrorCode): Promise<GatewayError> {
  const signature = `0x${'55'.repeat(65)}`
  const authorization = {
    from: `0x${'44'.repeat(20)}`,
    to: TERMS.payTo,
    value: amountFor(TERMS, ASSET, PRICED).toString(),
    validAfter: '0',
    validBefore: String(Math.floor(Date.now() / 1_000) + 600),
    nonce: `0x${'66'.repeat(32)}`,
  }
  const windowSeconds = Math.floor(limits.quoteWindowMs / 1_000) + TERMS.marginSeconds
  const [accepted] = x402Offers(TERMS, PRICED, windowSeconds, Date.now() + 60_000)
  const paymentSignature = toBase64Json({ x402Version: 2, accepted, payload: { signature, authorization } })
  const head = { path: PRICED.path, host: 'gw.example', authorization: '', apiKey: '', agent: '', acceptPayment: '' }
  const exchange = {
    id: 'req_1',
    gone: false,
    remoteAddress: () => '127.0.0.1',
    head: { ...head, paymentSignature, forwardedFor: '' },
  } as unknown as Exchange
  const services = {
    terms: { current: async () => TERMS },
    verifier: { verify: async () => ({ kind: 'signed', signature }) },
    rpc: { call: () => Promise.reject(new GatewayError(row)) },
    catalog: { current: { sheet: { version: 1, coinUsdUnits: PRICED.coinUsdUnits } } },
    limits,
    owner: 'own_1',
    publicUrl: '',
    trustedProxies: 0,
    onFault: assert.ifError,
  } as unknown as PaymentServices
  const paid = new PaidRequest(services, exchange, BODY)
  return new Promise((resolve, reject) => {
    const waiter = { requestId: 'req_1', wantUnits: PRICED.units, holdMeta: 'test/small,chat,1,0' }
    const told = { onHeld: reject, onHoldRefused: resolve, onCrashed: reject }
    paid.take({ ...waiter, ...told } as unknown as HoldWaiter)
  })
}

test('if it is unknown to control whether the hold was taken, the hold is voided', async () => {
  const unconfirmed = await refusalFor('settlement_unconfirmed')
  assert.equal(unconfirmed.code, 'settlement_unconfirmed')
  assert.equal(unconfirmed.cause, LOST_ANSWER)
})

test('without a payment there is no hold to void', async () => {
  const failed = await refusalFor('settlement_failed')
  assert.equal(failed.code, 'settlement_failed')
  assert.equal(failed.cause, undefined)
})
