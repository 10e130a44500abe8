// Goal: what is drawn adds up to what was used. Method: random rows; the series of each measure against the sum of the rows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { groupSums, OTHERS, seriesOf, type UsageRow } from '../../../../console/usage/pivot.ts'

const PERIODS = ['2027-01-01', '2027-01-02', '2027-01-03']
const row: fc.Arbitrary<UsageRow> = fc.record({
  period: fc.constantFrom(...PERIODS),
  group: fc.constantFrom('a', 'b', 'c', 'd'),
  requests: fc.nat(1_000),
  inputTokens: fc.nat(1_000_000),
  outputTokens: fc.nat(1_000_000),
  units: fc.bigInt(0n, 10n ** 15n),
})

test('series have one value a period, and lose nothing', () => {
  fc.assert(
    fc.property(fc.array(row), fc.integer({ min: 1, max: 4 }), (rows, most) => {
      const series = seriesOf(rows, PERIODS, 'cost', most)
      assert.ok(series.every(({ values }) => values.length === PERIODS.length))
      const drawn = series.flatMap(({ values }) => values).reduce((sum, value) => sum + BigInt(value), 0n)
      assert.equal(
        drawn,
        rows.reduce((sum, { units }) => sum + units, 0n),
      )
    }),
  )
})

test('groups are ordered by cost, and those beyond the bound are drawn as one', () => {
  const rows = [1n, 3n, 2n].map((units, place) => ({
    period: '2027-01-01',
    group: `g${place}`,
    requests: 1,
    inputTokens: 2,
    outputTokens: 3,
    units,
  }))
  assert.deepEqual(
    groupSums(rows).map(({ group }) => group),
    ['g1', 'g2', 'g0'],
  )
  const series = seriesOf(rows, PERIODS, 'tokens', 1)
  assert.deepEqual(series, [
    { name: 'g1', values: [5, 0, 0] },
    { name: OTHERS, values: [10, 0, 0] },
  ])
})
