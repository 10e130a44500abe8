import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isCausedByContent } from '../../../../../control/book/settlement/bookBatch.ts'

test('only errors of the content reject an entry', () => {
  assert.ok(isCausedByContent({ code: '22021' }))
  assert.ok(isCausedByContent({ code: '23514', constraint: 'charge_within_hold' }))
  assert.ok(!isCausedByContent({ code: '23505', constraint: 'receipts_2026_11_place_key' }))
  assert.ok(!isCausedByContent({ code: '40P01' }))
  assert.ok(!isCausedByContent({ code: '57P01' }))
  assert.ok(!isCausedByContent({ code: 'ECONNREFUSED' }))
  assert.ok(!isCausedByContent(new Error('Connection terminated')))
})
