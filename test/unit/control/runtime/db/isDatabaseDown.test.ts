import assert from 'node:assert/strict'
import { test } from 'node:test'
import { isDatabaseDown } from '../../../../../control/runtime/db/isDatabaseDown.ts'

const failed = (code: string): Error => Object.assign(new Error('the database failed'), { code })

test('a server that takes no connection, no statement or no write now is down; a statement that is wrong is not', () => {
  const down = [
    '08006',
    '57P01',
    '57P02',
    '57P03',
    '57P05',
    '53300',
    '53100',
    '53200',
    '25006',
    '58030',
    'ECONNREFUSED',
  ]
  for (const code of down) assert.equal(isDatabaseDown(failed(code)), true, code)
  for (const code of ['23505', '42601', '40001', '57014', '22003', '25001', '55P03', 'ENOENT'])
    assert.equal(isDatabaseDown(failed(code)), false, code)
})

test('so is one that cannot be reached at any of its addresses, and one whose connection the driver gave up', () => {
  assert.equal(isDatabaseDown(new AggregateError([failed('ECONNREFUSED')])), true)
  assert.equal(isDatabaseDown(new AggregateError([failed('42601')])), false)
  assert.equal(isDatabaseDown(new Error('Connection terminated unexpectedly')), true)
  assert.equal(isDatabaseDown('57P01'), false)
})
