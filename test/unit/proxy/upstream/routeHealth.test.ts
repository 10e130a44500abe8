import assert from 'node:assert/strict'
import { test } from 'node:test'
import { classifyRefusal } from '../../../../proxy/upstream/refusal.ts'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import { limits } from '../../../support/limits.ts'

const N = limits.breakerFailures

function failedTimes(health: RouteHealth, times: number, accountId?: (i: number) => string): void {
  for (let i = 0; i < times; i++) {
    health.started('r')
    health.failed('r', 0, accountId?.(i))
  }
}

test('failures that no request can cause open the breaker after a few in a row', () => {
  const health = new RouteHealth(limits)
  failedTimes(health, N - 1)
  assert.ok(health.isOpen('r', 0))
  failedTimes(health, 1)
  assert.ok(!health.isOpen('r', 0))
})

test('a single account does not open the breaker for others, several do', () => {
  const health = new RouteHealth(limits)
  failedTimes(health, N * 2, () => 'acct_a')
  assert.ok(health.isOpen('r', 0))
  failedTimes(health, 1, () => 'acct_b')
  assert.ok(!health.isOpen('r', 0))
})

test('a single account opens the breaker in the long run, and a success resets it', () => {
  const health = new RouteHealth(limits)
  failedTimes(health, N * 4 - 1, () => 'acct_a')
  health.succeeded('r')
  failedTimes(health, N * 4 - 1, () => 'acct_a')
  assert.ok(health.isOpen('r', 0))
  failedTimes(health, 1, () => 'acct_a')
  assert.ok(!health.isOpen('r', 0))
})

test('after its timeout one request is tried, and its failure opens the breaker again', () => {
  const health = new RouteHealth(limits)
  failedTimes(health, N, (i) => `acct_${i % 2}`)
  const laterMs = limits.breakerOpenMs
  assert.ok(health.isOpen('r', laterMs))
  health.started('r')
  assert.ok(!health.isOpen('r', laterMs))
  health.failed('r', laterMs, 'acct_0')
  assert.ok(!health.isOpen('r', laterMs + limits.breakerOpenMs - 1))
})

test('error statuses may be caused by the request; a rejected credential is not', () => {
  const perhaps = (status: number) => classifyRefusal(status, { message: '', code: '' }, 0).perhapsRequest === true
  assert.deepEqual([500, 502, 503, 504, 408].map(perhaps), [true, true, true, true, true])
  assert.deepEqual([401, 402, 403, 404, 429, 400].map(perhaps), [false, false, false, false, false, false])
})

test('a route that begins its answers and breaks each of them off is closed, and a whole answer resets it', () => {
  const health = new RouteHealth(limits)
  const breakOff = (times: number) => {
    for (let i = 0; i < times; i++) {
      health.started('r')
      health.answers('r')
      health.broke('r', 0, `acct_${i % 2}`)
    }
  }
  breakOff(N - 1)
  assert.ok(health.isOpen('r', 0))
  health.answers('r')
  health.succeeded('r')
  breakOff(N - 1)
  assert.ok(health.isOpen('r', 0))
  breakOff(1)
  assert.ok(!health.isOpen('r', 0))
})

test('a route is limited for as long as its provider asked for by its rate, and not for another reason', () => {
  const health = new RouteHealth(limits)
  health.coolDown('r', 200)
  assert.deepEqual([health.isOpen('r', 0), health.isLimited('r', 0)], [false, false])
  health.coolDown('r', 100, true)
  assert.deepEqual(
    [health.isLimited('r', 99), health.isLimited('r', 100), health.isOpen('r', 100)],
    [true, false, false],
  )
  health.coolDown('r', 300, true)
  health.answers('r')
  assert.deepEqual([health.isOpen('r', 0), health.isLimited('r', 0)], [true, false])
})
