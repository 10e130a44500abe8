import fc from 'fast-check'

/** How many accounts the steps go between. */
export const ACCOUNTS = 4

const account = fc.nat(ACCOUNTS - 1)
const units = fc.integer({ min: 1, max: 700 })
const pick = fc.nat()
const kinds = <Kind extends string>(...names: Kind[]) => fc.constantFrom(...names)

/** What happens to coin. */
export type Step =
  | {
      readonly kind: 'pay' | 'pay, then fail' | 'pay, then die'
      readonly from: number
      readonly to: number
      readonly units: number
      readonly capped: boolean
    }
  | { readonly kind: 'link'; readonly from: number; readonly units: number; readonly livesMs: number }
  | { readonly kind: 'claim' | 'cancel'; readonly pick: number; readonly by: number }
  | { readonly kind: 'grant'; readonly from: number; readonly units: number; readonly livesMs: number }
  | { readonly kind: 'hold'; readonly from: number; readonly units: number }
  | { readonly kind: 'settle'; readonly pick: number; readonly share: number }
  | { readonly kind: 'lose Redis' }

const step: fc.Arbitrary<Step> = fc.oneof(
  {
    weight: 6,
    arbitrary: fc.record({
      kind: kinds('pay', 'pay', 'pay', 'pay, then fail', 'pay, then die'),
      from: account,
      to: account,
      units,
      capped: fc.boolean(),
    }),
  },
  {
    weight: 3,
    arbitrary: fc.record({ kind: kinds('link'), from: account, units, livesMs: fc.constantFrom(1, 100, 86_400_000) }),
  },
  { weight: 4, arbitrary: fc.record({ kind: kinds('claim', 'cancel'), pick, by: account }) },
  {
    weight: 1,
    arbitrary: fc.record({ kind: kinds('grant'), from: account, units, livesMs: fc.constantFrom(20, 86_400_000) }),
  },
  { weight: 5, arbitrary: fc.record({ kind: kinds('hold'), from: account, units }) },
  { weight: 5, arbitrary: fc.record({ kind: kinds('settle'), pick, share: fc.integer({ min: -20, max: 120 }) }) },
)
/** Batches of steps, each of which runs at once. */
export const batches = fc.array(fc.array(step, { minLength: 1, maxLength: 8 }), { minLength: 5, maxLength: 20 })
