import assert from 'node:assert/strict'
import { type TestContext, test } from 'node:test'
import { RestingChecks } from '../../../proxy/restingChecks.ts'

const EVERY_MS = 10
const REST_MS = 1_000

/** Checks that are counted, and find something to do while `isBusy`. */
function checksOf(t: TestContext) {
  t.mock.timers.enable({ apis: ['setTimeout', 'setImmediate'] })
  const state = { isBusy: true, checks: 0 }
  const timer = new RestingChecks({
    everyMs: EVERY_MS,
    restMs: REST_MS,
    check: () => {
      state.checks++
      return state.isBusy
    },
  })
  const within = (ms: number): number => {
    const before = state.checks
    for (let at = 0; at < ms; at++) t.mock.timers.tick(1)
    return state.checks - before
  }
  return { state, timer, within }
}

test('checks that find something to do stay frequent', (t) => {
  const { within, timer } = checksOf(t)
  assert.equal(within(100 * EVERY_MS), 100)
  timer.stop()
})

test('checks become seldom once several of them have found nothing', (t) => {
  const { state, within, timer } = checksOf(t)
  state.isBusy = false
  assert.equal(within(16 * EVERY_MS), 16)
  assert.equal(within(10 * REST_MS), 10)
  timer.stop()
})

test('a check follows within the usual interval whenever a rest is ended', (t) => {
  const { state, within, timer } = checksOf(t)
  for (const restMs of [0, 1, EVERY_MS, REST_MS / 2, REST_MS - 1]) {
    state.isBusy = false
    within(20 * EVERY_MS + restMs)
    timer.wake()
    state.isBusy = true
    assert.equal(within(EVERY_MS), 1, `${restMs} ms after the rest began`)
    assert.equal(within(10 * EVERY_MS), 10)
  }
  timer.stop()
})

test('a check that finds something after a rest makes the next ones frequent', (t) => {
  const { state, within, timer } = checksOf(t)
  state.isBusy = false
  within(20 * EVERY_MS)
  state.isBusy = true
  assert.ok(within(REST_MS) > 0)
  assert.equal(within(10 * EVERY_MS), 10)
  timer.stop()
})

test('nothing is checked after the end', (t) => {
  const { within, timer } = checksOf(t)
  timer.stop()
  assert.equal(within(10 * REST_MS), 0)
})
