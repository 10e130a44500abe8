import assert from 'node:assert/strict'
import test from 'node:test'
import { attemptRef, subjectOf } from '../../../../control/chain/attemptRef.ts'

test('the ref of an attempt names its row', () => {
  for (const subject of ['wdr_01', 7]) {
    assert.equal(attemptRef(subject, 12), `${subject}#12`)
    assert.equal(subjectOf(attemptRef(subject, 12)), String(subject))
  }
})
