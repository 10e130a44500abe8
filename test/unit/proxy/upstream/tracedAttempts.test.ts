// Goal: a trace has an attempt for each request that is sent, with its end and the reason of its failure; the context of the
// trace goes to a provider if and only if the catalog says so and the request is not of the private tier.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../../../../proxy/catalog/pricedItem.ts'
import { RequestTrace } from '../../../../proxy/traces/requestTrace.ts'
import type { AttemptsOptions } from '../../../../proxy/upstream/attemptsOptions.ts'
import { traced } from '../../../../proxy/upstream/tracedAttempts.ts'
import {
  TransportFailure,
  type UpstreamListener,
  type UpstreamRequest,
} from '../../../../proxy/upstream/transport/transport.ts'

const ATTEMPTS_MAX = 3
const PARENT = { traceId: 'a'.repeat(32), spanId: 'b'.repeat(16), isSampled: true }
const newTrace = (state = '') =>
  new RequestTrace(performance.now(), { parent: PARENT, state }, () => true, ATTEMPTS_MAX)
const routeTo = (traceContext?: boolean) =>
  ({ upstreamModel: 'm', provider: { id: 'p', origin: 'http://127.0.0.1:1', traceContext } }) as unknown as Route

/** Attempts whose provider answers as the test says. */
function newAttempts(trace: RequestTrace | undefined, isPrivate = false) {
  const sent: { readonly request: UpstreamRequest; readonly listener: UpstreamListener }[] = []
  const told: string[] = []
  const listener: UpstreamListener = {
    onHead: (status) => told.push(`head ${status}`),
    onData: () => told.push('data'),
    onEnd: () => told.push('end'),
    onFailure: ({ kind }) => told.push(kind),
  }
  const options = {
    makeRequest: () => ({ requestId: 'req_1' }) as UpstreamRequest,
    transport: {
      send: (request: UpstreamRequest, heard: UpstreamListener) => {
        sent.push({ request, listener: heard })
        return { pause: () => undefined, resume: () => undefined, cancel: () => undefined, letGo: () => undefined }
      },
      close: () => Promise.resolve(),
    },
    onFault: (_route: unknown, reason: string) => told.push(reason),
  } as unknown as AttemptsOptions
  const { makeRequest, transport, onFault } = traced(options, trace, isPrivate)
  const ask = (route: Route): UpstreamListener => {
    transport.send(makeRequest(route, 1, false), listener)
    return sent.at(-1)?.listener ?? assert.fail()
  }
  return { options, ask, sent, told, onFault }
}

test('without a trace the attempts are as they were', () => {
  const { options } = newAttempts(undefined)
  assert.equal(traced(options, undefined, false), options)
})

test('an attempt has its end and the reason of its failure', () => {
  const trace = newTrace()
  const { ask, told, onFault } = newAttempts(trace)
  const route = routeTo()
  const headers = { get: () => undefined }
  ask(route).onHead(503, headers)
  onFault(route, 'status 503')
  ask(route).onFailure(new TransportFailure('first_byte_timeout'))
  onFault(route, 'upstream first byte timeout')
  const unusable = ask(route)
  unusable.onHead(200, headers)
  unusable.onData(Buffer.from('{'))
  unusable.onEnd()
  onFault(route, 'unusable answer')
  const read = () => trace.attempts.map(({ number, status, error, endMs }) => [number, status, error, endMs >= 0])
  assert.deepEqual(read(), [
    [1, 503, '503', true],
    [2, 0, 'first_byte_timeout', true],
    [3, 200, 'invalid_answer', true],
  ])
  const told1 = ['head 503', 'status 503', 'first_byte_timeout', 'upstream first byte timeout']
  assert.deepEqual(told, [...told1, 'head 200', 'data', 'end', 'unusable answer'])
  ask(route)
  // The bound keeps the last ones.
  assert.deepEqual(read().at(-1), [4, 0, '', false])
  assert.equal(trace.attempts.length, ATTEMPTS_MAX)
})

test('the context goes where the catalog says so, but not with a request of the private tier', () => {
  const cases: [traceContext: boolean | undefined, isPrivate: boolean, goes: boolean][] = [
    [true, false, true],
    [true, true, false],
    [false, false, false],
    [undefined, false, false],
    [undefined, true, false],
  ]
  for (const [traceContext, isPrivate, goes] of cases) {
    const trace = newTrace('vendor=1')
    const { ask, sent } = newAttempts(trace, isPrivate)
    ask(routeTo(traceContext))
    const [attempt] = trace.attempts
    const expected = ['traceparent', `00-${PARENT.traceId}-${attempt?.spanId}-01`, 'tracestate', 'vendor=1']
    assert.deepEqual(sent[0]?.request.traceHeaders?.list, goes ? expected : undefined)
  }
})
