// Goal: whatever is told has enough accounts behind it, and nothing is lost or told twice.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FIGURES, type Figure, OTHERS, type OwnedCell, UNDATED } from '../../../../../control/book/statistics/cell.ts'
import { release } from '../../../../../control/book/statistics/release.ts'

const LEAST = 4
const DAYS = 5

/** A request, booked before a count. */
interface Use {
  readonly count: number
  readonly day: number
  readonly model: string
  readonly owner: string
}

/** What was told at a count, with the requests that it is made of. */
interface Told {
  readonly count: number
  readonly day: number
  readonly model: string
  readonly uses: readonly number[]
}

const use = (owner: fc.Arbitrary<string>) =>
  fc.record({
    count: fc.integer({ min: 0, max: 5 }),
    day: fc.integer({ min: 0, max: DAYS - 1 }),
    model: fc.constantFrom('a/x', 'a/y', 'b/z'),
    owner,
  })
const crowd = (most: number) =>
  fc.array(use(fc.integer({ min: 1, max: 7 }).map((i) => `acct_${i}`)), { maxLength: most })

/** A request is a bit of the units, so that sums tell which requests they are made of. */
function cellOf({ day, model, owner }: Use, place: number): OwnedCell {
  const sums = Object.fromEntries(FIGURES.map((name) => [name, 1])) as Record<Figure, number>
  return { ...sums, units: 2 ** place, day, model, durations: [0, 1], first_tokens: [], owners: [owner] }
}

function usesIn(units: number): number[] {
  const bits = BigInt(units)
  return Array.from({ length: 52 }, (_, place) => place).filter((place) => (bits >> BigInt(place)) & 1n)
}

/** Counts day by day, the last count long after all days. */
function run(uses: readonly Use[]): { told: Told[]; waiting: OwnedCell[] } {
  const told: Told[] = []
  let waiting: OwnedCell[] = []
  for (let count = 0; count <= DAYS + 1; count++) {
    const fresh = uses.flatMap((each, place) => (each.count === count ? [cellOf(each, place)] : []))
    const released = release([...waiting, ...fresh], count, LEAST)
    waiting = released.waiting
    for (const cell of released.published) {
      assert.equal(cell.requests, usesIn(cell.units).length)
      assert.deepEqual(cell.durations, [0, cell.requests])
      told.push({ count, day: cell.day, model: cell.model, uses: usesIn(cell.units) })
    }
  }
  return { told, waiting }
}

test('every difference between two reads covers enough accounts, and belongs to its day and model', () => {
  fc.assert(
    fc.property(crowd(50), (uses) => {
      const { told, waiting } = run(uses)
      for (const { day, model, uses: places } of told) {
        const used = places.map((place) => uses[place])
        assert.ok(new Set(used.map((each) => each?.owner)).size >= LEAST)
        for (const each of used) {
          assert.ok(day === UNDATED || each?.day === day)
          assert.ok(model === OTHERS || each?.model === model)
        }
      }
      const all = [...told.flatMap((each) => each.uses), ...waiting.flatMap(({ units }) => usesIn(units))]
      assert.deepEqual(
        all.sort((a, b) => a - b),
        uses.map((_, place) => place),
      )
    }),
    { numRuns: 1_000 },
  )
})

test('usage of one account that is not published does not change any published figure', () => {
  const single = fc.array(use(fc.constant('acct_single')), { maxLength: 6 })
  let compared = 0
  fc.assert(
    fc.property(crowd(30), single, single, (others, one, another) => {
      const withOne = run([...others, ...one])
      const withAnother = run([...others, ...another])
      const isTold = ({ told }: ReturnType<typeof run>) =>
        told.some(({ uses }) => uses.some((use) => use >= others.length))
      if (isTold(withOne) || isTold(withAnother)) return
      compared++
      assert.deepEqual(withOne.told, withAnother.told)
    }),
    { numRuns: 2_000 },
  )
  assert.ok(compared > 100, `${compared} pairs of which neither tells the account`)
})

test('at its end a day publishes its other usage; the rest of too few accounts waits without its day', () => {
  const of = (day: number, model: string, owners: readonly string[]) =>
    owners.map((owner, place) => cellOf({ count: 0, day, model, owner }, place))
  const three = ['a', 'b', 'c']
  const day7 = [...of(7, 'm', three), ...of(7, 'n', ['d'])]
  assert.deepEqual(release(day7, 7, LEAST).published, [])
  const [others, ...more] = release(day7, 8, LEAST).published
  assert.deepEqual([others?.day, others?.model, others?.requests, more.length], [7, OTHERS, 4, 0])
  const few = release(of(7, 'm', three), 8, LEAST)
  assert.deepEqual([few.published.length, few.waiting.length, few.waiting[0]?.day], [0, 1, UNDATED])
  const [undated] = release([...few.waiting, ...of(9, 'n', ['d'])], 10, LEAST).published
  assert.deepEqual([undated?.day, undated?.model, undated?.requests], [UNDATED, OTHERS, 4])
})
