import assert from 'node:assert/strict'
import { test } from 'node:test'
import { type RestingKey, RestingKeys } from '../../../../../proxy/admission/leases/restingKeys.ts'

/** Keys that rest until a moment each, and those that were ended, in their order. */
function resting(leaseRestsMax: number) {
  const ended: RestingKey[] = []
  const keys = new RestingKeys({ leaseRestsMax })
  const add = (key: RestingKey): void => {
    keys.add(key, () => {
      keys.remove(key)
      ended.push(key)
    })
  }
  const keyUntil = (untilMs: number): RestingKey => ({ rests: (nowMs) => nowMs < untilMs })
  return { keys, add, ended, keyUntil }
}

test('beyond the limit the lease that was unused for longest is given back', () => {
  const { keys, add, ended, keyUntil } = resting(2)
  const [a, b, c, d] = [keyUntil(9), keyUntil(9), keyUntil(9), keyUntil(9)]
  add(a)
  add(b)
  assert.deepEqual([keys.size, ended], [2, []])
  add(c)
  // One that was used meanwhile is the newest.
  keys.remove(b)
  add(b)
  add(d)
  assert.equal(keys.size, 2)
  assert.deepEqual(
    ended.map((key) => [a, b, c, d].indexOf(key)),
    [0, 2],
  )
})

test('those whose time is over end, and none behind the first that goes on is looked at', () => {
  const { keys, add, ended, keyUntil } = resting(9)
  const seen = keyUntil(7)
  for (const key of [keyUntil(5), keyUntil(6), seen]) add(key)
  add({ rests: () => assert.fail('it was looked at') })
  keys.review(4)
  assert.equal(ended.length, 0)
  keys.review(6)
  assert.deepEqual([ended.length, keys.size], [2, 2])
})
