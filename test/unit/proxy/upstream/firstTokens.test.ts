// Goal: the time to the first output of a stream is measured from the sending of its request, for routes that are chosen by it
// alone, and the figures stay within their bound. Method: Attempts over a transport that the test answers, and a clock of its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Attempts } from '../../../../proxy/upstream/attempts.ts'
import type { AttemptListener } from '../../../../proxy/upstream/attemptsOptions.ts'
import { FirstTokens } from '../../../../proxy/upstream/firstTokens.ts'
import { OPERATION_RULES } from '../../../../proxy/upstream/operationRules.ts'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import type { UpstreamListener } from '../../../../proxy/upstream/transport/transport.ts'
import { limits, limitsWith } from '../../../support/limits.ts'
import { keyedModel } from '../../../support/parts/keyedRoutes.ts'
import { testRequest } from '../../../support/parts/runWorld.ts'
import { itemOf } from '../../../support/present.ts'

const START_MS = 1_000_000
const IGNORED = () => undefined
const LISTENER: AttemptListener = {
  onAttempt: IGNORED,
  onAnswer: IGNORED,
  onData: IGNORED,
  onEnd: IGNORED,
  onBroken: IGNORED,
  onRefused: IGNORED,
  onCrashed: (error) => assert.fail(String(error)),
}
const HEADERS = { get: IGNORED }
const KEYS = { a: 'sk' }

/** A request over two routes of a model; the first fails after 100 ms, the second has its first output after another 40. */
function play(health: RouteHealth, order: string, streamed: boolean, tick: (ms: number) => void): void {
  const { routes } = keyedModel(
    [
      { provider: 'one', keys: KEYS },
      { provider: 'two', keys: KEYS },
    ],
    order,
  )
  const calls: UpstreamListener[] = []
  const transport = {
    send: (_request: unknown, listener: UpstreamListener) => {
      calls.push(listener)
      return { pause: IGNORED, resume: IGNORED, cancel: IGNORED, letGo: IGNORED }
    },
    close: () => Promise.resolve(),
  }
  const options = { transport, health, limits, rule: OPERATION_RULES.chat, accountId: 'acct', routes, streamed }
  const attempts = new Attempts({ ...options, makeRequest: testRequest, listener: LISTENER, onFault: IGNORED })
  attempts.start()
  tick(100)
  itemOf(calls, 0).onHead(503, HEADERS)
  itemOf(calls, 0).onEnd()
  tick(40)
  itemOf(calls, 1).onHead(200, HEADERS)
  attempts.commit()
  tick(500)
  itemOf(calls, 1).onEnd()
}

test('a stream is measured from its own sending to its first output; a route that failed is not', ({ mock }) => {
  mock.timers.enable({ apis: ['Date'], now: START_MS })
  const health = new RouteHealth(limits)
  play(health, 'first_token', true, (ms) => mock.timers.tick(ms))
  assert.deepEqual(
    ['one/x', 'two/x'].map((id) => health.firstTokens.of(id, Date.now())),
    [undefined, 40],
  )
})

for (const [what, order, streamed] of [
  ['an answer in one piece', 'first_token', false],
  ['a model whose routes are not chosen by it', 'price', true],
] as const) {
  test(`${what} is not measured`, ({ mock }) => {
    mock.timers.enable({ apis: ['Date'], now: START_MS })
    const health = new RouteHealth(limits)
    play(health, order, streamed, (ms) => mock.timers.tick(ms))
    assert.equal(health.firstTokens.of('two/x', Date.now()), undefined)
  })
}

test('newer times move the average, and after a pause they begin it anew', () => {
  const times = new FirstTokens(limits)
  times.note('a', 100, START_MS)
  times.note('a', 200, START_MS + 1)
  assert.equal(times.of('a', START_MS + 1), 120)
  const later = START_MS + 1 + limits.firstTokenKeptMs
  assert.equal(times.of('a', later), undefined)
  times.note('a', 700, later)
  assert.equal(times.of('a', later), 700)
})

test('the route that was measured first is forgotten where there are too many', () => {
  const times = new FirstTokens(limitsWith({ firstTokenRoutesMax: 2 }))
  for (const id of ['a', 'b', 'c']) times.note(id, 100, START_MS)
  assert.deepEqual(
    ['a', 'b', 'c'].map((id) => times.of(id, START_MS)),
    [undefined, 100, 100],
  )
})
