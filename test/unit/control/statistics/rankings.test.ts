// Goal: rankings do not depend on the order in which models are read, and growth is compared exactly.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { FIGURES, type Figures } from '../../../../control/book/statistics/cell.ts'
import { type Ranked, type RankedBy, rank } from '../../../../control/statistics/rankings.ts'

const NOTHING = Object.fromEntries(FIGURES.map((name) => [name, 0])) as Record<keyof Figures, number>
const sums = (tokens: number, units = 0): Figures => ({ ...NOTHING, requests: 1, input_tokens: tokens, units })

const BY: readonly RankedBy[] = ['tokens', 'charge', 'requests', 'growth']

test('the order is independent of the order of models, and ties are sorted by id', () => {
  const entry = fc.record({
    now: fc.integer({ min: 0, max: 5 }),
    before: fc.option(fc.integer({ min: 0, max: 5 })),
    units: fc.integer({ min: 0, max: 2 }),
  })
  fc.assert(
    fc.property(
      fc.array(entry, { maxLength: 30 }),
      fc.constantFrom(...BY),
      fc.infiniteStream(fc.nat()),
      (found, by, keys) => {
        const entries = found.map(({ now, before, units }, i): Ranked => {
          return { id: `m/${i}`, now: sums(now, units), before: before === null ? undefined : sums(before) }
        })
        const shuffled = entries
          .map((each) => ({ each, key: keys.next().value as number }))
          .sort((a, b) => a.key - b.key)
          .map(({ each }) => each)
        const ranked = rank(shuffled, by)
        assert.deepEqual(ranked, rank(entries, by))
        for (const [i, later] of ranked.entries()) {
          const earlier = ranked[i - 1]
          if (earlier === undefined || JSON.stringify({ ...earlier, id: '' }) !== JSON.stringify({ ...later, id: '' }))
            continue
          assert.ok(earlier.id < later.id)
        }
      },
    ),
  )
})

test('growth is compared exactly, beyond the precision of a float; new models are last, the largest first', () => {
  const large = 9_007_199_254_740_000
  const entries: Ranked[] = [
    { id: 'new-small', now: sums(1), before: undefined },
    { id: 'slower', now: sums(large - 1), before: sums(large - 2) },
    { id: 'new-large', now: sums(7), before: sums(0) },
    { id: 'faster', now: sums(large - 2), before: sums(large - 3) },
    { id: 'shrinking', now: sums(1), before: sums(2) },
  ]
  assert.deepEqual(
    rank(entries, 'growth').map(({ id }) => id),
    ['faster', 'slower', 'shrinking', 'new-large', 'new-small'],
  )
})
