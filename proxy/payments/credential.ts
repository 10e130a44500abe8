import { GatewayError } from '../../contract/errors/errors.ts'
import { isPaymentScheme } from '../../contract/payments/mpp.ts'
import { hasSeveralPayments } from '../../contract/payments/x402.ts'
import type { RequestHead } from '../server/exchange.ts'

/** The payment credential of a request. */
export type PaymentCredential =
  | { readonly kind: 'none' }
  /** A payment of the version before, under its own header. */
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
  const isTwice = (isMpp && authorization.includes(',')) || hasSeveralPayments(paymentSignature)
  if (isTwice) throw new GatewayError('payment_conflict')
  return isMpp ? { kind: 'mpp', authorization } : { kind: 'x402', header: paymentSignature }
}
