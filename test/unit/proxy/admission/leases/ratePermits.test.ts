import assert from 'node:assert/strict'
import { test } from 'node:test'
import { RatePermits } from '../../../../../proxy/admission/leases/ratePermits.ts'

test('the rest is that of this process with what Redis had left', () => {
  const permits = new RatePermits()
  permits.add(3, 10)
  assert.deepEqual([permits.use(), permits.use()], [12, 11])
  permits.add(1, 4)
  assert.equal(permits.use(), 5)
})

test('permits are given back once, with their interval; those of refused requests are used', () => {
  const permits = new RatePermits()
  permits.add(5, 0)
  permits.lose(2)
  assert.deepEqual([permits.takeAll('1000,20'), permits.takeAll('1000,20')], ['3,1000', ''])
  permits.add(1, 0)
  permits.lose(2)
  assert.equal(permits.count, 0)
  permits.add(1, 0)
  assert.equal(permits.takeAll(''), '')
})

test('one permit may be used before it is taken, unless the rate was used up; a refusal does not forgive it', () => {
  const permits = new RatePermits()
  assert.equal(permits.mayOwe(1), false)
  permits.add(1, 3)
  assert.equal(permits.mayOwe(1), false)
  permits.use()
  assert.deepEqual([permits.mayOwe(3), permits.mayOwe(4)], [true, false])
  assert.equal(permits.use(), 2)
  assert.equal(permits.mayOwe(1), false)
  permits.lose(1)
  permits.void()
  assert.equal(permits.takeAll('1000,20'), '-1,1000,20')
  assert.deepEqual([permits.count, permits.mayOwe(1)], [0, false])
  permits.add(0, 1)
  assert.equal(permits.mayOwe(1), true)
})
