// Goal: the keys that spend most are those of the last whole window, and neither what is counted nor what is shown grows.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { TopSpenders } from '../../../../../control/book/settlement/topSpenders.ts'
import { rounds } from '../../../../support/rounds.ts'

const LIMITS = { topSpendMs: 300_000, topSpendKeysMax: 50, topSpendShownMax: 3 }

function spenders() {
  const clock = { ms: 0 }
  const top = new TopSpenders(LIMITS, () => clock.ms)
  const note = (...spending: readonly (readonly [keyId: string, units: number])[]) =>
    top.note(spending.map(([keyId, units]) => ({ keyId, accountId: `of ${keyId}`, units })))
  const shown = () => top.read().map(({ keyId, units }) => [keyId, units])
  return { clock, top, note, shown }
}

test('a window is shown once it is over, until the next one is', () => {
  const { clock, top, note, shown } = spenders()
  note(['a', 5], ['b', 7])
  note(['a', 5])
  assert.deepEqual(shown(), [])
  clock.ms = 300_000
  assert.deepEqual(shown(), [
    ['a', 10],
    ['b', 7],
  ])
  note(['c', 1])
  clock.ms = 599_999
  assert.equal(shown().length, 2)
  clock.ms = 600_000
  assert.deepEqual(shown(), [['c', 1]])
  assert.deepEqual(top.read()[0]?.accountId, 'of c')
})

test('windows without any charge show none, however long they are', () => {
  const { clock, note, shown } = spenders()
  note(['a', 5])
  clock.ms = 900_000
  assert.deepEqual(shown(), [])
  note(['b', 0], ['c', 2])
  clock.ms = 1_200_000
  assert.deepEqual(shown(), [['c', 2]])
})

test('of more keys than are counted, the first of the window count', () => {
  const { clock, note, shown } = spenders()
  for (let i = 0; i < 1_000; i++) note([`key ${i}`, i + 1])
  note(['key 3', 1_000])
  clock.ms = 300_000
  assert.deepEqual(shown(), [
    ['key 3', 1_004],
    ['key 49', 50],
    ['key 48', 49],
  ])
})

test('what is shown are the largest sums of the keys', () => {
  const charge = fc.tuple(fc.integer({ min: 0, max: 20 }).map(String), fc.integer({ min: 0, max: 1_000_000 }))
  fc.assert(
    fc.property(fc.array(fc.array(charge)), (batches) => {
      const { clock, note, shown } = spenders()
      const sums = new Map<string, number>()
      for (const batch of batches) {
        note(...batch)
        for (const [keyId, units] of batch) sums.set(keyId, (sums.get(keyId) ?? 0) + units)
      }
      clock.ms = 300_000
      const largest = [...sums.values()].filter((units) => units > 0).sort((a, b) => b - a)
      assert.deepEqual(
        shown().map(([, units]) => units),
        largest.slice(0, 3),
      )
      for (const [keyId, units] of shown()) assert.equal(sums.get(String(keyId)), units)
    }),
    { numRuns: rounds({ short: 200, long: 2_000 }) },
  )
})
