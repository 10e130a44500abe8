import assert from 'node:assert/strict'
import test from 'node:test'
import { camelColumns } from '../../../../../control/runtime/db/columns.ts'

test('columns of several words are returned in camel case, all others unchanged', () => {
  assert.equal(
    camelColumns(`id, w.url, account_id,
      w.created_at_ms`),
    'id, w.url, account_id AS "accountId", w.created_at_ms AS "createdAtMs"',
  )
})
