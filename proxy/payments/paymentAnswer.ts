import type { ErrorCode, GatewayError } from '../../contract/errors/errors.ts'
import { amountJson, type ReceiptPaid } from '../../contract/money/receipt.ts'
import { networkOf } from '../../contract/payments/address.ts'
import { toBase64Json } from '../../contract/payments/encoding.ts'
import {
  acceptsEvmCharge,
  type Challenge,
  challengeHeader,
  MPP_METHOD,
  receiptHeader,
} from '../../contract/payments/mpp.ts'
import type { PaymentTerms } from '../../contract/payments/terms.ts'
import { type PaymentRequired, type SettleResponse, X402_VERSION } from '../../contract/payments/x402.ts'
import type { FailureAnswer, HeaderList } from '../server/exchange.ts'
import { mppChallenges, type Priced, priceUnits, x402Offers } from './offers.ts'

const PROBLEM_TYPE = 'application/problem+json; charset=utf-8'
const PROBLEMS = 'https://paymentauth.org/problems/'

/** Suffix and title of the problem that an error is, by the Payment scheme; others are refused verifications. */
const PROBLEM_OF: Partial<Record<ErrorCode, readonly [suffix: string, title: string]>> = {
  x402: ['payment-required', 'Payment Required'],
  mpp_malformed_credential: ['malformed-credential', 'Malformed Credential'],
  mpp_invalid_challenge: ['invalid-challenge', 'Invalid Challenge'],
  mpp_payment_expired: ['payment-expired', 'Payment Expired'],
  mpp_invalid_payload: ['invalid-payload', 'Invalid Payload'],
  insufficient_funds: ['payment-insufficient', 'Payment Insufficient'],
  quote_mismatch: ['payment-insufficient', 'Payment Insufficient'],
}
const VERIFICATION_FAILED = ['verification-failed', 'Verification Failed'] as const

/** The price of a request, and the address it was sent to. */
export interface PaymentDemand {
  readonly terms: PaymentTerms
  readonly priced: Priced
  /** Absolute address of the request, and the host in it. */
  readonly url: string
  readonly realm: string
  readonly windowSeconds: number
  /** The header Accept-Payment. */
  readonly acceptPayment: string
  readonly requestId: string
}

/** A 402: the offers in headers for clients of x402 and MPP, and in the body for all clients. */
export function paymentRequired(error: GatewayError, asked: PaymentDemand): FailureAnswer {
  const { terms, priced, windowSeconds } = asked
  const expiresAtMs = Date.now() + windowSeconds * 1_000
  const required: PaymentRequired = {
    x402Version: X402_VERSION,
    error: error.row === 'x402' ? 'Payment required' : error.row,
    resource: { url: asked.url, mimeType: 'application/json' },
    accepts: x402Offers(terms, priced, windowSeconds, expiresAtMs),
  }
  const challenges = acceptsEvmCharge(asked.acceptPayment) ? mppChallenges(terms, priced, asked.realm, expiresAtMs) : []
  const headers = ['payment-required', toBase64Json(required), 'cache-control', 'no-store']
  for (const challenge of challenges) headers.push('www-authenticate', challengeHeader(challenge))
  if (error.row === 'settlement_failed') {
    const failed = { success: false, errorReason: error.row, transaction: '', network: networkOf(terms.chainId) }
    headers.push('payment-response', toBase64Json(failed satisfies SettleResponse))
  }
  const body = bodyOf(error, asked, expiresAtMs, required, challenges)
  return { contentType: PROBLEM_TYPE, body, headers }
}

function bodyOf(
  error: GatewayError,
  asked: PaymentDemand,
  expiresAtMs: number,
  required: PaymentRequired,
  challenges: readonly Challenge[],
): string {
  const { message, type, code, param, status } = error
  const { coinUsdUnits, sheetVersion } = asked.priced
  const [suffix, title] = PROBLEM_OF[error.row] ?? VERIFICATION_FAILED
  const amountOf = (units: number) => JSON.parse(amountJson(units, coinUsdUnits)) as Record<string, string>
  return JSON.stringify({
    type: PROBLEMS + suffix,
    title,
    status,
    detail: message,
    error: { message, type, code, param },
    quote: {
      ...amountOf(priceUnits(asked.terms, asked.priced)),
      minimum_charge: amountOf(asked.terms.minUnits),
      price_sheet: String(sheetVersion),
      expires_at: new Date(expiresAtMs).toISOString(),
    },
    payment: { x402: required, mpp: challenges },
    request_id: asked.requestId,
  })
}

/** The headers with the receipt of a payment. */
export function paidHeaders(paid: ReceiptPaid, protocol: 'x402' | 'mpp', challengeId: string): HeaderList {
  const { network, payer, transaction } = paid
  const settled: SettleResponse = { success: true, transaction, network, payer }
  const headers = ['payment-response', toBase64Json(settled), 'cache-control', 'private']
  if (protocol === 'x402') return headers
  return [
    'cache-control',
    'private',
    'payment-receipt',
    receiptHeader({
      method: MPP_METHOD,
      challengeId,
      reference: transaction,
      status: 'success',
      timestamp: new Date().toISOString(),
      chainId: Number(network.slice(network.indexOf(':') + 1)),
    }),
  ]
}
