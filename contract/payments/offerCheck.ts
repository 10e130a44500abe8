import { isJsonObject } from '../std/jsonObject.ts'
import { networkOf } from './address.ts'
import { beginOf, endOf, type SignedPayment } from './signedPayment.ts'
import type { PaymentRequirements } from './x402.ts'

/**
 * Whether a payment was made for an offer: all members of `accepted` but `extra` are equal to the offer's, and
 * `accepted.extra` has all that the offer's has, as servers of x402 version 2 compare them.
 */
export function isAccepted(accepted: Readonly<Record<string, unknown>>, offer: PaymentRequirements): boolean {
  const { extra, ...rest } = offer
  const names = Object.keys(accepted).filter((name) => name !== 'extra')
  if (names.length !== Object.keys(rest).length) return false
  for (const [name, value] of Object.entries(rest)) if (accepted[name] !== value) return false
  const given = accepted['extra']
  return isJsonObject(given) && Object.entries(extra).every(([name, value]) => given[name] === value)
}

/** The difference between a payment and the offer it answers. */
export type PaymentFault = 'network' | 'token' | 'recipient' | 'amount' | 'spender' | 'method' | 'expired' | 'early'

/** The required payment. */
export interface RequiredPayment {
  readonly network: string
  readonly token: string
  readonly method: SignedPayment['method']
  readonly payTo: string
  readonly amountAtomic: bigint
  /** The contract that may call Permit2; not read for EIP-3009. */
  readonly spender: string
  /** How long the payment has to hold at least. */
  readonly marginSeconds: number
}

/**
 * Compares the signed payment with the offer; no cryptography.
 * @param nowSeconds since 1970
 */
export function paymentFault(
  payment: SignedPayment,
  asked: RequiredPayment,
  nowSeconds: number,
): PaymentFault | undefined {
  if (payment.method !== asked.method) return 'method'
  if (networkOf(payment.chainId) !== asked.network) return 'network'
  if (payment.token !== asked.token) return 'token'
  if (payment.to !== asked.payTo) return 'recipient'
  if (payment.value !== asked.amountAtomic) return 'amount'
  if (payment.method !== 'eip3009' && payment.spender !== asked.spender) return 'spender'
  if (endOf(payment) < BigInt(nowSeconds + asked.marginSeconds)) return 'expired'
  if (beginOf(payment) > BigInt(nowSeconds)) return 'early'
  return undefined
}
