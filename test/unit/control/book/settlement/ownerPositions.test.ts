import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { addRun, type Progress } from '../../../../../control/book/settlement/ownerPositions.ts'

const NOTHING: Progress = { seq: 0, ahead: [] }

test('in order, only the last number is stored', () => {
  const first = addRun(NOTHING, { first: 1, last: 5 })
  assert.deepEqual(first, { seq: 5, ahead: [] })
  assert.deepEqual(addRun(first, { first: 6, last: 6 }), { seq: 6, ahead: [] })
  assert.deepEqual(addRun(first, { first: 2, last: 9 }), { seq: 9, ahead: [] })
})

test('endings booked after a gap wait for the missing ones', () => {
  const ahead = addRun({ seq: 3, ahead: [] }, { first: 7, last: 9 })
  assert.deepEqual(ahead, { seq: 3, ahead: [{ first: 7, last: 9 }] })
  assert.deepEqual(addRun(ahead, { first: 10, last: 12 }), { seq: 3, ahead: [{ first: 7, last: 12 }] })
  assert.deepEqual(addRun(ahead, { first: 4, last: 6 }), { seq: 9, ahead: [] })
})

test('in any order and with any repeats, the booked positions equal a set of numbers', () => {
  const run = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat({ max: 8 }))
  fc.assert(
    fc.property(fc.array(run, { maxLength: 25 }), (runs) => {
      const booked = new Set<number>()
      let progress = NOTHING
      for (const [first, more] of runs) {
        for (let number = first; number <= first + more; number++) booked.add(number)
        progress = addRun(progress, { first, last: first + more })
      }
      let seq = 0
      while (booked.has(seq + 1)) seq++
      assert.equal(progress.seq, seq)
      const ahead = progress.ahead.flatMap(({ first, last }) =>
        Array.from({ length: last - first + 1 }, (_, i) => first + i),
      )
      assert.deepEqual(
        ahead,
        [...booked].filter((number) => number > seq).sort((a, b) => a - b),
      )
      for (const [i, { first }] of progress.ahead.entries()) assert.ok(first > (progress.ahead[i - 1]?.last ?? seq) + 1)
    }),
  )
})
