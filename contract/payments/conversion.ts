import { MAX_UNITS } from '../money/units.ts'
import type { PaymentAsset } from './terms.ts'

/** USD of one whole token in units. @param coinUsdUnits USD of one coin in units, from the price sheet */
export function tokenUsdUnits(asset: PaymentAsset, coinUsdUnits: number): number {
  return asset.usdUnits === 0 ? coinUsdUnits : asset.usdUnits
}

/**
 * The tokens that pay an amount: rounded up, so that they are never worth less.
 * @param units safe integer, not negative
 * @param usdUnits USD of one whole token in units, positive
 * @returns atomic units of the token
 */
export function atomicFor(units: number, decimals: number, usdUnits: number): bigint {
  const price = BigInt(usdUnits)
  return (BigInt(units) * 10n ** BigInt(decimals) + price - 1n) / price
}

/**
 * The value of tokens, rounded down, so that no more is credited than arrived.
 * @param atomic atomic units of the token, not negative
 * @returns units
 * @throws RangeError beyond MAX_UNITS
 */
export function unitsOf(atomic: bigint, decimals: number, usdUnits: number): number {
  const units = (atomic * BigInt(usdUnits)) / 10n ** BigInt(decimals)
  if (atomic < 0n || units > BigInt(MAX_UNITS)) throw new RangeError(`no amount that the book can hold: ${atomic}`)
  return Number(units)
}

/**
 * The whole atomic units that an amount is worth, rounded down, and the value of those, rounded up: at most the given
 * amount.
 * @param units safe integer, not negative
 * @param usdUnits USD of one whole token in units, positive
 */
export function wholeAtomic(
  units: number,
  decimals: number,
  usdUnits: number,
): { readonly amount: bigint; readonly units: number } {
  const [price, whole] = [BigInt(usdUnits), 10n ** BigInt(decimals)]
  const amount = (BigInt(units) * whole) / price
  return { amount, units: Number((amount * price + whole - 1n) / whole) }
}

/**
 * The refunded part of a payment, in tokens: in proportion, rounded down; the whole payment when all of it is refunded.
 * @param paidAtomic the payment, in atomic units
 * @param paidUnits the amount that was credited for it
 * @param backUnits the part to refund, at most paidUnits
 */
export function atomicBack(paidAtomic: bigint, paidUnits: number, backUnits: number): bigint {
  if (backUnits < 0 || backUnits > paidUnits) throw new RangeError(`${backUnits} of ${paidUnits} units cannot go back`)
  return paidUnits === 0 ? paidAtomic : (paidAtomic * BigInt(backUnits)) / BigInt(paidUnits)
}
