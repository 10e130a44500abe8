import { GatewayError } from '../../contract/errors/errors.ts'
import { parseAddress } from '../../contract/payments/address.ts'
import { isAccepted } from '../../contract/payments/offerCheck.ts'
import { quoteFault } from '../../contract/payments/quote.ts'
import type { PaymentTerms } from '../../contract/payments/terms.ts'
import { readPaymentHeader, requirementsOf } from '../../contract/payments/x402.ts'
import { isJsonObject } from '../../contract/std/jsonObject.ts'
import { type CheckedPayment, requirePayment } from './checkedPayment.ts'
import { amountFor, bindingOf, type Priced } from './offers.ts'

/**
 * Checks an x402 payment against the current price of its request.
 * @param header PAYMENT-SIGNATURE
 * @throws GatewayError payment_invalid, quote_mismatch
 */
export function checkX402(
  header: string,
  terms: PaymentTerms,
  priced: Priced,
  windowSeconds: number,
  headerBytesMax: number,
): CheckedPayment {
  const found = readPaymentHeader(header, headerBytesMax)
  if (found === undefined) {
    const message = 'PAYMENT-SIGNATURE must be base64 of an x402 version 2 payment of scheme exact.'
    throw new GatewayError('payment_invalid', { message })
  }
  const { accepted, payment } = found
  const token = parseAddress(accepted['asset'])
  const asset = terms.assets.find(({ address }) => address === token)
  if (asset === undefined) {
    const message = 'The payment is in another token; sign one for the quote in this answer.'
    throw new GatewayError('quote_mismatch', { message })
  }
  const quote = isJsonObject(accepted['extra']) ? accepted['extra']['quote'] : undefined
  const fault = quoteFault(terms.quoteSecret, bindingOf(terms, asset, priced), quote, Date.now())
  if (fault !== undefined) throw new GatewayError('quote_mismatch', { message: FAULT_MESSAGES[fault] })
  const amount = amountFor(terms, asset, priced)
  if (!isAccepted(accepted, requirementsOf(terms, asset, amount, windowSeconds, String(quote)))) {
    throw new GatewayError('quote_mismatch')
  }
  requirePayment(payment, terms, asset, amount, 'payment_invalid')
  return {
    protocol: 'x402',
    asset,
    amount,
    payer: payment.from,
    payment,
    challenge: undefined,
    transactionRaw: '',
    transactionHash: '',
  }
}

const FAULT_MESSAGES = {
  expired: 'The quote has expired; sign a payment for the quote in this answer.',
  altered:
    'The payment is for another request, body or price; sign one for the quote in this answer. It covers the bytes of the body: send exactly those that the quote was for, of a form with the same multipart boundary, of JSON with the same whitespace.',
} as const
