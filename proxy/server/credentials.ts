import { isPaymentScheme } from '../../contract/payments/mpp.ts'
import type { RequestHead } from './exchange.ts'

/** Bearer tokens of another form are dummies of stock clients that require a token; they are not credentials. */
const SECRET = /^bearer\s+(?:sk|ses|rt)_/i
const BEARER = /^bearer\s+/i
const BASE64 = /^[A-Za-z0-9+/_-]+={0,2}$/

/**
 * Whether a request carries more than one credential: a key, a session or a read token, in Authorization or x-api-key, and
 * payments by x402 or MPP. The same secret in Authorization and in x-api-key is one credential.
 */
export function carriesTwoCredentials({ authorization, apiKey, paymentSignature }: RequestHead): boolean {
  if (apiKey === '' && paymentSignature === '') return false
  if (apiKey.includes(',') || hasSeveralPayments(paymentSignature)) return true
  if (apiKey !== '' && paymentSignature !== '') return true
  if (authorization === '') return false
  if (isPaymentScheme(authorization)) return true
  if (paymentSignature !== '') return SECRET.test(authorization)
  return BEARER.test(authorization) && authorization.replace(BEARER, '').trim() !== apiKey
}

/** Whether PAYMENT-SIGNATURE has more than one payment. JSON that somebody forgot to encode has commas, too. */
export function hasSeveralPayments(header: string): boolean {
  return header.includes(',') && header.split(',').every((part) => BASE64.test(part.trim()))
}
