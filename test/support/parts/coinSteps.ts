import fc from 'fast-check'
import { UNITS_PER_USD } from '../../../contract/money/units.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { itemOf } from '../present.ts'
import type { Priced } from './leasingWorker.ts'

export const WORKERS = 2
export const ACCOUNTS = 2
/** USD of a coin: one, half, two, and those at which nearly nothing divides. */
const PRICES = ['1', '0.5', '2', '1.234567891', '0.333333333', '7.000000001', '0.001', '41.7']

/** What is done to accounts of coin while its price changes. */
export type CoinStep =
  | {
      readonly kind: 'take'
      readonly worker: number
      readonly account: number
      readonly share: number
      readonly count: number
    }
  | { readonly kind: 'hold' | 'hold singly'; readonly account: number; readonly share: number }
  | { readonly kind: 'end' | 'settle'; readonly place: number; readonly share: number }
  | { readonly kind: 'link' | 'pay' | 'withdraw'; readonly account: number; readonly share: number }
  | { readonly kind: 'claim' | 'cancel'; readonly place: number; readonly account: number }
  | { readonly kind: 'price'; readonly place: number }
  | { readonly kind: 'rest' | 'flush' }

const account = fc.nat(ACCOUNTS - 1)
const place = fc.nat(99)
const share = fc.nat(1_000).map((thousandths) => thousandths / 1_000)
const kinds = <Kind extends string>(...some: Kind[]) => fc.constantFrom(...some)
export const coinStep: fc.Arbitrary<CoinStep> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      kind: kinds('take'),
      worker: fc.nat(WORKERS - 1),
      account,
      share,
      count: fc.integer({ min: 1, max: 5 }),
    }),
  },
  { weight: 3, arbitrary: fc.record({ kind: kinds('hold', 'hold singly'), account, share }) },
  { weight: 9, arbitrary: fc.record({ kind: kinds('end', 'settle'), place, share }) },
  { weight: 4, arbitrary: fc.record({ kind: kinds('link', 'pay', 'withdraw'), account, share }) },
  { weight: 2, arbitrary: fc.record({ kind: kinds('claim', 'cancel'), place, account }) },
  { weight: 4, arbitrary: fc.record({ kind: kinds('price'), place: fc.nat(PRICES.length - 1) }) },
  { weight: 2, arbitrary: fc.record({ kind: kinds('rest') }) },
  { weight: 1, arbitrary: fc.record({ kind: kinds('flush') }) },
)

/** Writes a price sheet for each price into the book, in their order. */
export async function publishPrices(pool: Pool): Promise<void> {
  for (const [i, usd] of PRICES.entries()) {
    await pool.query(
      `INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet)
       VALUES ($1, now(), now() + interval '30 days', $2, $3)`,
      [i + 1, '', JSON.stringify({ coin: { usd } })],
    )
  }
}

/** What the sheet with one of the prices says. */
export const pricedBy = (i: number): Priced => ({
  sheetVersion: i + 1,
  coinUsdUnits: Math.round(Number(itemOf(PRICES, i)) * UNITS_PER_USD),
})
