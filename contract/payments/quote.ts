import { createHmac, timingSafeEqual } from 'node:crypto'

/** The request that a quote is bound to; its payment pays for nothing else. */
export interface QuoteBinding {
  readonly path: string
  /** Of the request's body, byte for byte. */
  readonly bodySha256: Buffer
  readonly sheetVersion: number
  /** The hold of the request. */
  readonly units: number
  /** The smallest charge, units. */
  readonly minUnits: number
  readonly network: string
  readonly asset: string
  /** Atomic units of the asset. */
  readonly amount: string
  readonly payTo: string
}

/** Why a quote is invalid. */
export type QuoteFault = 'expired' | 'altered'

const FORM = /^([0-9]{13})\.([A-Za-z0-9_-]{43})$/

function macOf(secret: Buffer, binding: QuoteBinding, expiresAtMs: number): Buffer {
  const { path, bodySha256, sheetVersion, units, minUnits, network, asset, amount, payTo } = binding
  const fields = [
    path,
    bodySha256.toString('hex'),
    sheetVersion,
    units,
    minUnits,
    network,
    asset,
    amount,
    payTo,
    expiresAtMs,
  ]
  return createHmac('sha256', secret)
    .update(`sluice-quote/2\n${fields.join('\n')}`)
    .digest()
}

/**
 * The text that binds an offer to its request; no state is kept of it.
 * @param expiresAtMs milliseconds since 1970
 */
export function newQuote(secret: Buffer, binding: QuoteBinding, expiresAtMs: number): string {
  return `${expiresAtMs.toString().padStart(13, '0')}.${macOf(secret, binding, expiresAtMs).toString('base64url')}`
}

/** @returns the fault of the quote that a payment carries; undefined when it binds exactly this request */
export function quoteFault(
  secret: Buffer,
  binding: QuoteBinding,
  quote: unknown,
  nowMs: number,
): QuoteFault | undefined {
  const match = typeof quote === 'string' ? FORM.exec(quote) : null
  if (match === null) return 'altered'
  const expiresAtMs = Number(match[1])
  if (!timingSafeEqual(macOf(secret, binding, expiresAtMs), Buffer.from(match[2] ?? '', 'base64url'))) return 'altered'
  return expiresAtMs <= nowMs ? 'expired' : undefined
}
