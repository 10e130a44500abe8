import assert from 'node:assert/strict'
import test from 'node:test'
import { readLimits } from '../../../../contract/limits/limits.ts'

test('without changes the defaults hold, all positive integers', () => {
  const limits = readLimits(undefined)
  assert.deepEqual(readLimits(''), limits)
  for (const [name, value] of Object.entries(limits)) {
    assert.ok(Number.isSafeInteger(value) && value > 0, name)
  }
})

test('single values are changed', () => {
  const limits = readLimits('{"drainGraceMs": 2000}')
  assert.equal(limits.drainGraceMs, 2000)
  assert.equal(limits.imagesMax, readLimits(undefined).imagesMax)
})

test('wrong changes are named', () => {
  assert.throws(() => readLimits('{"drainGrace": 1}'), /unknown limit: drainGrace/)
  assert.throws(() => readLimits('{"__proto__": 1}'), /unknown limit/)
  assert.throws(() => readLimits('{"toString": 1}'), /unknown limit/)
  for (const value of ['0', '-1', '1.5', '"5"', 'null', '1e300', 'true']) {
    assert.throws(() => readLimits(`{"drainGraceMs": ${value}}`), /drainGraceMs must be a positive integer/, value)
  }
  for (const text of ['[]', '1', 'null', '"x"']) assert.throws(() => readLimits(text), /must be a JSON object/, text)
  assert.throws(() => readLimits('{'), SyntaxError)
})

test('the heartbeat is lost only after several were missed', () => {
  const { heartbeatIntervalMs, heartbeatTimeoutMs } = readLimits(undefined)
  assert.ok(heartbeatTimeoutMs >= 5 * heartbeatIntervalMs)
})
