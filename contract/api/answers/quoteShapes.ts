import { integer, is, list, mapOf, openShape, orNull, ref, said, shape, text, time } from './shape.ts'

const X402 = openShape({
  x402Version: integer,
  error: text,
  resource: openShape({ url: text }),
  accepts: list(
    shape({
      scheme: is('exact'),
      network: text,
      amount: said('In atomic units of the token', text),
      asset: said('The address of the token', text),
      payTo: text,
      maxTimeoutSeconds: integer,
      extra: mapOf(text),
    }),
  ),
})

const CHALLENGE = shape({
  id: text,
  realm: text,
  method: text,
  intent: text,
  request: text,
  expires: time,
  digest: text,
  opaque: text,
})

/** The answer with the price of a request that pays for itself. */
export const QUOTE_SHAPES = {
  PaymentRequired: shape({
    type: said('The problem, as a URL (RFC 9457)', text),
    title: text,
    status: integer,
    detail: text,
    error: shape({ message: text, type: text, code: orNull(text), param: orNull(text) }),
    quote: shape({
      units: said('Integer of 1e-9 USD', text),
      usd: text,
      coin: text,
      minimum_charge: said('The least charge of a settled request', ref('Amount')),
      price_sheet: text,
      expires_at: time,
    }),
    payment: shape({ x402: said('The content of PAYMENT-REQUIRED', X402), mpp: list(CHALLENGE) }),
    request_id: text,
  }),
}
