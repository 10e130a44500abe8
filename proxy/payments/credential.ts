import { GatewayError } from '../../control/contract/errors.ts'
import { isPaymentScheme } from '../../control/contract/payments/mpp.ts'
import type { RequestHead } from '../server/exchange.ts'

/** How a request says that it pays. */
export type PaymentCredential =
  | { readonly kind: 'none' }
  | { readonly kind: 'x402'; readonly header: string }
  | { readonly kind: 'mpp'; readonly authorization: string }

/** A Bearer token that is no key is what a stock client sends because it has to send one; it is nobody's credential. */
const KEY = /^bearer\s+sk_/i

/**
 * The payment that a request carries.
 * @throws GatewayError payment_conflict when it carries two, or a key as well
 */
export function readPaymentCredential(head: RequestHead): PaymentCredential {
  const { authorization, paymentSignature, apiKey } = head
  const isMpp = isPaymentScheme(authorization)
  if (!isMpp && paymentSignature === '') return { kind: 'none' }
  const hasKey = KEY.test(authorization) || apiKey !== ''
  const isTwice = (isMpp && authorization.includes(',')) || paymentSignature.includes(',')
  if (hasKey) throw new GatewayError('payment_conflict', { message: 'Send a payment or an API key, not both.' })
  if ((isMpp && paymentSignature !== '') || isTwice) throw new GatewayError('payment_conflict')
  return isMpp ? { kind: 'mpp', authorization } : { kind: 'x402', header: paymentSignature }
}
