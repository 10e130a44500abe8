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
  quick.succeeded(1_150)
  quick.failed(false)
  slow.onOutput(1_101)
  slow.succeeded(1_150)
  failed.failed(false)
  stalled.failed(true)
  // The time that 500 bytes may take does not count.
  body.onOutput(7_150, 500)
  body.succeeded(9_000)
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
  answering.givenUp(1_140)
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

interface SlowCase {
  readonly what: string
  readonly slow: 0 | 1
  readonly stream: (attempt: ReturnType<typeof begin>) => void
}

const SLOW: readonly SlowCase[] = [
  {
    what: 'outputs that follow soon',
    slow: 0,
    stream: (attempt) => {
      for (let at = 1_100; at <= 2_000; at += 100) attempt.onNextOutput(at, at)
      attempt.succeeded(2_100)
    },
  },
  {
    what: 'one wait between outputs, however many there are',
    slow: 1,
    stream: (attempt) => {
      attempt.onNextOutput(1_151, 100_000)
      attempt.succeeded(1_152)
    },
  },
  { what: 'a long wait for the end', slow: 1, stream: (attempt) => attempt.succeeded(1_151) },
  { what: 'a long wait until its client left', slow: 1, stream: (attempt) => attempt.givenUp(1_151) },
  {
    what: 'many short waits for few bytes',
    slow: 1,
    stream: (attempt) => {
      for (let i = 1; i <= 20; i++) attempt.onNextOutput(1_050 + i * 90, i * 4)
      attempt.succeeded(2_850)
    },
  },
  {
    what: 'a wait for its client',
    slow: 0,
    stream: (attempt) => {
      attempt.onPaused(1_060)
      attempt.onResumed(9_000)
      attempt.onNextOutput(9_050, 100)
      attempt.succeeded(9_060)
    },
  },
  {
    what: 'a wait that goes on when its client reads again',
    slow: 1,
    stream: (attempt) => {
      attempt.onResumed(1_140)
      attempt.succeeded(1_151)
    },
  },
]

for (const { what, slow, stream } of SLOW) {
  test(`${what} of a stream: ${slow === 1 ? 'slow' : 'not slow'}`, () => {
    const watch = new CanaryWatch()
    const attempt = begin(watch)
    attempt.onOutput(1_050)
    stream(attempt)
    const [measure] = watch.take()
    assert.deepEqual([measure?.timed, measure?.slow, measure?.firstOutputMs], [1, slow, 50])
  })
}
