import { randomInt } from 'node:crypto'
import { networkOf } from '../../contract/payments/address.ts'
import { PERMIT2_ADDRESS } from '../../contract/payments/addresses.ts'
import { atomicFor, tokenUsdUnits } from '../../contract/payments/conversion.ts'
import { bodyDigest, type Challenge, canonicalText, newChallenge } from '../../contract/payments/mpp.ts'
import { newQuote, type QuoteBinding } from '../../contract/payments/quote.ts'
import type { PaymentAsset, PaymentTerms } from '../../contract/payments/terms.ts'
import { type PaymentRequirements, requirementsOf } from '../../contract/payments/x402.ts'

/** A request with its price and the values that bind a payment to it. */
export interface Priced {
  readonly path: string
  readonly bodySha256: Buffer
  readonly sheetVersion: number
  /** USD of one coin in units. */
  readonly coinUsdUnits: number
  /** The hold of the request. */
  readonly units: number
}

/** Atomic units by which challenges for the same price differ, so that a transfer answers one of them alone. */
export const JITTER_END = 2 ** 32
/** With this many decimals, the jitter is worth less than a millionth of a cent. */
const JITTER_DECIMALS_MIN = 16

/** The price of a request in units: its hold, and at least the smallest charge. */
export function priceUnits({ minUnits }: PaymentTerms, { units }: Priced): number {
  return Math.max(units, minUnits)
}

/**
 * The atomic units that an asset's offer asks for: at least the smallest amount that can be credited, even when the request
 * is free.
 */
export function amountFor(terms: PaymentTerms, asset: PaymentAsset, priced: Priced): bigint {
  const units = Math.max(priceUnits(terms, priced), 1)
  return atomicFor(units, asset.decimals, tokenUsdUnits(asset, priced.coinUsdUnits))
}

/** The values that the quote of an offer binds. */
export function bindingOf(terms: PaymentTerms, asset: PaymentAsset, priced: Priced): QuoteBinding {
  const { path, bodySha256, sheetVersion, units } = priced
  const { minUnits, payTo } = terms
  const amount = amountFor(terms, asset, priced).toString()
  const network = networkOf(terms.chainId)
  return { path, bodySha256, sheetVersion, units, minUnits, network, asset: asset.address, amount, payTo }
}

/** The offers of x402, one for each asset. @param expiresAtMs milliseconds since 1970 */
export function x402Offers(
  terms: PaymentTerms,
  priced: Priced,
  windowSeconds: number,
  expiresAtMs: number,
): PaymentRequirements[] {
  return terms.assets.map((asset) => {
    const quote = newQuote(terms.quoteSecret, bindingOf(terms, asset, priced), expiresAtMs)
    return requirementsOf(terms, asset, amountFor(terms, asset, priced), windowSeconds, quote)
  })
}

/** How a token can be paid by MPP, in the order of preference. */
export function credentialTypes(asset: PaymentAsset): readonly string[] {
  if (asset.method === 'eip3009') return ['authorization']
  // A payer's own transfer does not name a challenge: only a unique amount identifies the challenge that it pays.
  return asset.decimals >= JITTER_DECIMALS_MIN ? ['permit2', 'transaction', 'hash'] : ['permit2']
}

/** The values that a challenge binds in addition to the body: the route, the price sheet, the hold and the smallest charge. */
export function opaqueOf({ minUnits }: PaymentTerms, priced: Priced): string {
  const { path, sheetVersion, units } = priced
  return canonicalText({ path, sheet: String(sheetVersion), units: String(units), min: String(minUnits) })
}

/** The challenges of MPP, one for each asset. @param realm the host, as clients know it */
export function mppChallenges(terms: PaymentTerms, priced: Priced, realm: string, expiresAtMs: number): Challenge[] {
  return terms.assets.map((asset) =>
    newChallenge(terms.quoteSecret, {
      realm,
      request: canonicalText(chargeRequest(terms, asset, priced)),
      expires: new Date(expiresAtMs).toISOString(),
      digest: bodyDigest(priced.bodySha256),
      opaque: opaqueOf(terms, priced),
    }),
  )
}

function chargeRequest(terms: PaymentTerms, asset: PaymentAsset, priced: Priced): Record<string, unknown> {
  const types = credentialTypes(asset)
  const jitter = types.includes('hash') ? BigInt(randomInt(JITTER_END)) : 0n
  const permit2 = types.includes('permit2') ? { permit2Address: PERMIT2_ADDRESS, spender: terms.spender } : {}
  return {
    amount: (amountFor(terms, asset, priced) + jitter).toString(),
    currency: asset.address,
    recipient: terms.payTo,
    methodDetails: { chainId: terms.chainId, credentialTypes: types, decimals: asset.decimals, ...permit2 },
  }
}
