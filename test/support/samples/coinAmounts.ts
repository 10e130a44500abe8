import fc from 'fast-check'
import { COIN_USD_UNITS_MAX, COIN_USD_UNITS_MIN } from '../../../contract/money/coin.ts'
import { MAX_UNITS, UNITS_PER_USD } from '../../../contract/money/units.ts'

/** Numbers of every size up to a bound, and those around its powers of ten. */
function ofEverySize(min: number, max: number): fc.Arbitrary<number> {
  const powers = Array.from({ length: 16 }, (_, i) => 10 ** i).filter((power) => power > min && power < max)
  return fc.oneof(
    fc.integer({ min, max }),
    fc.nat({ max: 1_000 }).map((more) => Math.min(max, min + more)),
    fc.nat({ max: 1_000 }).map((less) => max - less),
    fc.constantFrom(...powers).chain((power) => fc.integer({ min: Math.max(min, power - 2), max: power + 2 })),
    fc
      .integer({ min: 0, max: 52 })
      .chain((bits) => fc.integer({ min: Math.min(min, 2 ** bits), max: 2 ** bits + min })),
  )
}

export const anyAmount = ofEverySize(0, MAX_UNITS)

export const anyCoinPrice = fc.oneof(
  ofEverySize(COIN_USD_UNITS_MIN, COIN_USD_UNITS_MAX).map((price) => Math.min(price, COIN_USD_UNITS_MAX)),
  fc.constantFrom(UNITS_PER_USD, UNITS_PER_USD / 2, UNITS_PER_USD * 2, UNITS_PER_USD + 1, UNITS_PER_USD - 1),
)

/** What `valueOfCoin` has to come to. */
export function exactValue(coinNanos: number, coinUsdUnits: number): number {
  const units = (BigInt(coinNanos) * BigInt(coinUsdUnits)) / 1_000_000_000n
  return Number(units > BigInt(MAX_UNITS) ? BigInt(MAX_UNITS) : units)
}

/** What `coinFor` has to come to; undefined where no account can hold that. */
export function exactCoin(units: number, coinUsdUnits: number): number | undefined {
  const price = BigInt(coinUsdUnits)
  const nanos = (BigInt(units) * 1_000_000_000n + price - 1n) / price
  return nanos > BigInt(MAX_UNITS) ? undefined : Number(nanos)
}
