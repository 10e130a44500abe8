import { GatewayError } from '../../contract/errors/errors.ts'
import type { Address } from '../../contract/payments/address.ts'
import { networkOf } from '../../contract/payments/address.ts'
import { EXACT_PROXY_ADDRESS } from '../../contract/payments/addresses.ts'
import { type PaymentFault, paymentFault } from '../../contract/payments/offerCheck.ts'
import type { SignedPayment } from '../../contract/payments/signedPayment.ts'
import type { PaymentAsset, PaymentTerms } from '../../contract/payments/terms.ts'

/** A payment that matches the offer by all checks that need neither its signature nor the chain. */
export interface CheckedPayment {
  readonly protocol: 'x402' | 'mpp'
  readonly asset: PaymentAsset
  /** Atomic units. */
  readonly amount: bigint
  /** The claimed payer; the signature has to prove it. */
  readonly payer: Address
  /** Absent when the payer sends its own transaction. */
  readonly payment: SignedPayment | undefined
  /** The challenge of MPP that it answers. */
  readonly challenge: { readonly id: string; readonly realm: string } | undefined
  /** A signed transaction, or the hash of one that was sent; empty when the payer sent neither. */
  readonly transactionRaw: string
  readonly transactionHash: string
}

const MISMATCHES: ReadonlySet<PaymentFault> = new Set(['network', 'token', 'recipient', 'amount', 'spender', 'method'])

/**
 * Compares the signed payment with the offer.
 * @param expired the code for a payment whose time has passed
 * @throws GatewayError quote_mismatch, payment_invalid, or `expired`
 */
export function requirePayment(
  payment: SignedPayment,
  terms: PaymentTerms,
  asset: PaymentAsset,
  amountAtomic: bigint,
  expired: 'payment_invalid' | 'mpp_payment_expired',
): void {
  const method = payment.method === 'mpp-permit2' && asset.method === 'permit2' ? payment.method : asset.method
  const spender = payment.method === 'mpp-permit2' ? terms.spender : EXACT_PROXY_ADDRESS
  const network = networkOf(terms.chainId)
  const { payTo, marginSeconds } = terms
  const asked = { network, token: asset.address, method, payTo, amountAtomic, spender, marginSeconds }
  const fault = paymentFault(payment, asked, Math.floor(Date.now() / 1_000))
  if (fault === undefined) return
  if (MISMATCHES.has(fault)) throw new GatewayError('quote_mismatch', { message: MISMATCH_MESSAGES[fault] })
  throw new GatewayError(fault === 'expired' ? expired : 'payment_invalid', { message: TIME_MESSAGES[fault] })
}

const MISMATCH_MESSAGES: Readonly<Record<string, string>> = {
  network: 'The payment is for another chain; sign one for the quote in this answer.',
  token: 'The payment is in another token; sign one for the quote in this answer.',
  recipient: 'The payment goes to another address; sign one for the quote in this answer.',
  amount: 'The payment is of another amount; sign one for the quote in this answer.',
  spender: 'The payment names another spender; sign one for the quote in this answer.',
  method: 'The payment is made in another way than the token takes; sign one for the quote in this answer.',
}
const TIME_MESSAGES: Readonly<Record<string, string>> = {
  expired: 'The signature holds for too short a time or has expired; sign a new one for the quote in this answer.',
  early: 'The signature does not hold yet; sign one that holds now.',
}
