import { GatewayError } from '../../contract/errors/errors.ts'
import { isPaymentScheme } from '../../contract/payments/mpp.ts'
import type { RequestHead } from '../server/exchange.ts'

const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/** The payment credential of a request. */
export type PaymentCredential =
  | { readonly kind: 'none' }
  /** A payment of the version before, under a header of its own. */
  | { readonly kind: 'x402 v1' }
  | { readonly kind: 'x402'; readonly header: string }
  | { readonly kind: 'mpp'; readonly authorization: string }

/**
 * The payment that a request carries.
 * @throws GatewayError payment_conflict when it carries two of one kind
 */
export function readPaymentCredential(head: RequestHead): PaymentCredential {
  const { authorization, paymentSignature } = head
  const isMpp = isPaymentScheme(authorization)
  if (!isMpp && paymentSignature === '') return { kind: head.hasPaymentV1 === true ? 'x402 v1' : 'none' }
  const isTwice = (isMpp && authorization.includes(',')) || isSeveral(paymentSignature)
  if (isTwice) throw new GatewayError('payment_conflict')
  return isMpp ? { kind: 'mpp', authorization } : { kind: 'x402', header: paymentSignature }
}

// JSON that somebody forgot to encode has commas, too.
function isSeveral(header: string): boolean {
  return header.includes(',') && header.split(',').every((part) => BASE64.test(part.trim()))
}
