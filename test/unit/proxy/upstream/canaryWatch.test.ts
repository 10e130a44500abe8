import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../../../../proxy/catalog/pricedItem.ts'
import { CanaryWatch } from '../../../../proxy/upstream/canaryWatch.ts'

const route = { provider: { id: 'prov_1' }, registered: { model: 'm', firstOutputMaxMs: 100 } } as unknown as Route
const begin = (watch: CanaryWatch, streamed = true) => watch.begin(route, streamed, 1_000) ?? assert.fail()

test('routes of the catalog are not measured', () => {
  assert.equal(new CanaryWatch().begin({ provider: { id: 'mock' } } as unknown as Route, true, 0), undefined)
})

test('the end of a request counts once, its first output by the threshold', () => {
  const watch = new CanaryWatch()
  const [quick, slow, failed, stalled, body] = [
    begin(watch),
    begin(watch),
    begin(watch),
    begin(watch),
    begin(watch, false),
  ]
  quick.onOutput(1_100)
  quick.onOutput(5_000)
  quick.succeeded()
  quick.failed(false)
  slow.onOutput(1_101)
  slow.succeeded()
  failed.failed(false)
  stalled.failed(true)
  // The time that 500 bytes may take does not count.
  body.onOutput(7_150, 500)
  body.succeeded()
  const sums = { requests: 5, errors: 1, stalls: 1, overReports: 0, timed: 3, slow: 2, firstOutputMs: 351 }
  assert.deepEqual(watch.take(), [{ provider: 'prov_1', model: 'm', ...sums }])
  assert.deepEqual(watch.take(), [])
})

test('an abandoned request counts against the provider only after too long a wait', () => {
  const watch = new CanaryWatch()
  begin(watch).givenUp(1_100)
  assert.deepEqual(watch.take(), [])
  begin(watch).givenUp(1_101)
  const answering = begin(watch)
  answering.onOutput(1_050)
  answering.givenUp(9_000)
  const [measure] = watch.take()
  assert.deepEqual([measure?.requests, measure?.stalls, measure?.timed], [2, 1, 1])
})

test('unreported results are reported later, with the newer ones', () => {
  const watch = new CanaryWatch()
  begin(watch).failed(false)
  const taken = watch.take()
  begin(watch).failed(false)
  watch.keep(taken)
  assert.deepEqual(
    watch.take().map(({ errors }) => errors),
    [2],
  )
})
