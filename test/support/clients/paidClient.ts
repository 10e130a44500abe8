import assert from 'node:assert/strict'
import { decodePaymentRequiredHeader, encodePaymentSignatureHeader } from '@x402/core/http'
import type { PaymentPayload, PaymentRequired } from '@x402/core/types'
import type { Challenge } from '../../../contract/payments/mpp.ts'
import type { Payer } from '../chain.ts'
import type { PaidStack } from '../paidStack.ts'
import type { Reply } from './chatClient.ts'
import { signPayment } from './payloads.ts'

export const HELLO = { model: 'test/small', max_tokens: 100, messages: [{ role: 'user', content: 'hello' }] }
const JSON_HEADERS = { 'content-type': 'application/json' }

/** What a request is told to pay. */
export interface Quote {
  readonly required: PaymentRequired
  readonly challenges: readonly Challenge[]
  readonly reply: Reply
}

/** Sends a body to a path under /x402. */
export async function post(
  paid: PaidStack,
  body: unknown,
  headers: Record<string, string> = {},
  path = '/v1/chat/completions',
): Promise<Reply> {
  const text = typeof body === 'string' ? body : JSON.stringify(body)
  const init = { method: 'POST', headers: { ...JSON_HEADERS, ...headers }, body: text }
  const response = await fetch(paid.url(path), init)
  return { status: response.status, headers: response.headers, text: await response.text() }
}

/** Asks what a request costs. */
export async function quote(paid: PaidStack, body: unknown = HELLO, path?: string): Promise<Quote> {
  const reply = await post(paid, body, {}, path)
  assert.equal(reply.status, 402, reply.text)
  const { payment } = JSON.parse(reply.text) as { payment: { mpp: Challenge[] } }
  const required = decodePaymentRequiredHeader(reply.headers.get('payment-required') ?? '') as PaymentRequired
  return { required, challenges: payment.mpp, reply }
}

export type Asset = 'stablecoin' | 'coin'

/** The payment of a quote in one of its two tokens, as the reference client signs it. */
export function payFor({ required }: Quote, payer: Payer, asset: Asset = 'stablecoin'): Promise<PaymentPayload> {
  const offer = required.accepts[asset === 'stablecoin' ? 0 : 1]
  assert.ok(offer)
  return signPayment(payer, offer)
}

/** The header that carries a payment. */
export function paymentHeader(payload: PaymentPayload): Record<string, string> {
  return { 'payment-signature': encodePaymentSignatureHeader(payload) }
}

/** The code of an error, or 'paid' for an answer that succeeds. */
export function codeOf(reply: Reply): string {
  if (reply.status === 200) return 'paid'
  return (JSON.parse(reply.text) as { error: { code: string } }).error.code
}

/** How many payments have arrived at the gateway. */
export async function arrivals(paid: PaidStack): Promise<number> {
  const found = await paid.pool.query<{ count: number }>('SELECT count(*) FROM payments')
  return found.rows[0]?.count ?? 0
}
