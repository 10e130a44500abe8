// The rule of every operation, and what follows from it over routes that fail in every way: a request that a provider
// may have taken is never sent again where that would be paid for twice.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { ENDPOINTS } from '../../../../contract/catalog/catalog.ts'
import type { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Route } from '../../../../proxy/catalog/pricedItem.ts'
import { PhaseFault } from '../../../../proxy/phases.ts'
import { Attempts } from '../../../../proxy/upstream/attempts.ts'
import type { AttemptListener } from '../../../../proxy/upstream/attemptsOptions.ts'
import { OPERATION_RULES, type OperationRule } from '../../../../proxy/upstream/operationRules.ts'
import { classifyRefusal, refusalOfRegistered } from '../../../../proxy/upstream/refusal.ts'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import { HeaderBlock } from '../../../../proxy/upstream/transport/headerBlock.ts'
import {
  type FailureKind,
  type Transport,
  TransportFailure,
  type UpstreamListener,
  type UpstreamRequest,
} from '../../../../proxy/upstream/transport/transport.ts'
import { limits } from '../../../support/limits.ts'
import { testProvider, testRoutes } from '../../../support/parts/runWorld.ts'
import { itemOf } from '../../../support/present.ts'

const KINDS: readonly FailureKind[] = [
  'connect',
  'reset',
  'connect_timeout',
  'first_byte_timeout',
  'idle_timeout',
  'total_timeout',
  'malformed',
]
/** Failures before which no provider can have got the request. */
const NOT_SENT: ReadonlySet<FailureKind> = new Set(['connect', 'connect_timeout'])

/** What a route does with a request: fail, answer an error status, whole or broken off, or answer 200 and be found unusable or good. */
type Deed =
  | { readonly kind: FailureKind }
  | { readonly status: number; readonly cut?: FailureKind }
  | 'unusable'
  | 'good'

interface Outcome {
  /** The routes that were asked, in order, and whether on a new connection. */
  readonly asked: readonly { readonly route: string; readonly fresh: boolean }[]
  readonly error: GatewayError | null
}

/** Runs one request over routes that do as they are told; a route that is asked again does the same again. */
async function play(rule: OperationRule, deeds: readonly Deed[], disabled: readonly number[] = []): Promise<Outcome> {
  const health = new RouteHealth(limits)
  const routes = testRoutes(deeds.length)
  health.setDisabled(new Set(disabled.map((index) => itemOf(routes, index).id)))
  const asked: { route: string; fresh: boolean }[] = []
  const transport: Transport = {
    send: (request: UpstreamRequest, listener: UpstreamListener) => {
      asked.push({ route: request.path, fresh: request.fresh })
      const deed = itemOf(deeds, Number(request.path))
      setImmediate(() => act(deed, listener))
      return { pause: () => undefined, resume: () => undefined, cancel: () => undefined, letGo: () => undefined }
    },
    close: () => Promise.resolve(),
  }
  return new Promise((resolve) => {
    const listener: AttemptListener = {
      onAttempt: () => undefined,
      onAnswer: () => undefined,
      onData: () => undefined,
      onEnd: () => {
        const deed = deeds[Number(asked.at(-1)?.route)]
        if (deed === 'good') {
          attempts.commit()
          resolve({ asked, error: null })
        } else attempts.reject({ error: unusable(), elsewhere: true, routeFault: true, retryAfterMs: 0 })
      },
      onBroken: () => assert.fail('nothing breaks after the commit'),
      onRefused: (error) => resolve({ asked, error }),
      onCrashed: (error) => assert.fail(String(error)),
    }
    const attempts = new Attempts({
      transport,
      health,
      limits,
      rule,
      accountId: 'acct',
      routes,
      makeRequest: (route, totalTimeoutMs, fresh) => requestTo(route, totalTimeoutMs, fresh),
      listener,
      onFault: () => undefined,
    })
    attempts.start()
  })
}

function act(deed: Deed, listener: UpstreamListener): void {
  if (typeof deed === 'object' && 'kind' in deed) return listener.onFailure(new TransportFailure(deed.kind))
  const { status, cut = null } = typeof deed === 'object' ? deed : { status: 200 }
  listener.onHead(status, { get: () => undefined })
  if (cut === null) listener.onEnd()
  else listener.onFailure(new TransportFailure(cut))
}

function unusable(): GatewayError {
  return new TypeError('unusable') as unknown as GatewayError
}

function requestTo(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
  return {
    origin: testProvider.origin,
    host: testProvider.host,
    path: route.upstreamModel,
    method: 'POST',
    headers: new HeaderBlock([]),
    requestId: 'req_test',
    body: '{}',
    connectTimeoutMs: 1,
    firstByteTimeoutMs: 1,
    idleTimeoutMs: 1,
    totalTimeoutMs,
    fresh,
  }
}

/** Whether the provider of a route may have begun to work, so that it may bill for it. */
function mayHaveTaken(deed: Deed): boolean {
  if (typeof deed === 'string') return true
  if ('kind' in deed) return !NOT_SENT.has(deed.kind)
  return deed.status === 408 || deed.status >= 500
}

const status = fc.constantFrom(400, 401, 402, 403, 404, 408, 409, 413, 422, 429, 500, 502, 503, 504, 529)
const deed = fc.oneof(
  fc.constantFrom(...KINDS).map((kind): Deed => ({ kind })),
  status.map((status): Deed => ({ status })),
  fc.record({ status, cut: fc.constantFrom<FailureKind>('reset', 'idle_timeout', 'total_timeout', 'malformed') }),
  fc.constantFrom<Deed>('unusable', 'good'),
)

test('every operation has a rule, and videos and tools are the jobs that must not run twice', () => {
  assert.deepEqual(Object.keys(OPERATION_RULES).sort(), [...ENDPOINTS].sort())
  const having = (failover: string) => ENDPOINTS.filter((endpoint) => OPERATION_RULES[endpoint].failover === failover)
  assert.deepEqual(having('when_not_taken'), ['videos', 'tools'])
  assert.deepEqual(having('when_refused'), ['images', 'image_edits'])
  const ownStatus = ENDPOINTS.filter((endpoint) => OPERATION_RULES[endpoint].ownStatus)
  assert.deepEqual(ownStatus, ['videos', 'tools'])
})

test('property: a job is sent to at most one provider that may have accepted it, always on a new connection', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 4 }), async (deeds) => {
      const { asked } = await play(OPERATION_RULES.videos, deeds)
      const taken = asked.filter(({ route }) => mayHaveTaken(itemOf(deeds, Number(route))))
      assert.ok(taken.length <= 1)
      if (taken.length === 1) assert.deepEqual(asked.at(-1), taken[0])
      assert.ok(asked.every(({ fresh }) => fresh))
      assert.deepEqual(
        asked.map(({ route }) => route),
        deeds.slice(0, asked.length).map((_, index) => String(index)),
      )
    }),
    { numRuns: 500 },
  )
})

test('property: a request billed on creation fails over only after a provider has rejected it', async () => {
  await fc.assert(
    fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: 4 }), async (deeds) => {
      const { asked } = await play(OPERATION_RULES.images, deeds)
      for (const { route } of asked.slice(0, -1)) {
        const one = deeds[Number(route)]
        assert.ok(typeof one === 'object')
        assert.ok('kind' in one ? NOT_SENT.has(one.kind) : one.status !== 408 && one.status !== 504)
      }
      assert.equal(new Set(asked.map(({ route }) => route)).size, asked.length)
      assert.ok(asked.every(({ fresh }) => fresh))
    }),
    { numRuns: 300 },
  )
})

test('property: a request served immediately fails over, unless the request itself is at fault', async () => {
  await fc.assert(
    // One attempt of those that a request has may go to a kept connection that was dead.
    fc.asyncProperty(fc.array(deed, { minLength: 1, maxLength: limits.routeAttemptsMax - 1 }), async (deeds) => {
      const { asked } = await play(OPERATION_RULES.chat, deeds)
      const atFault = (one: Deed) =>
        typeof one === 'object' && 'status' in one && [400, 409, 413, 422].includes(one.status)
      const last = deeds.findIndex((one) => one === 'good' || atFault(one))
      const expected = last < 0 ? deeds.length : last + 1
      assert.equal(new Set(asked.map(({ route }) => route)).size, expected)
    }),
    { numRuns: 500 },
  )
})

for (const [endpoint, status, shown] of [
  ['chat', 422, 400],
  ['chat', 413, 413],
  ['videos', 422, 422],
  ['videos', 409, 409],
  ['videos', 400, 400],
] as const) {
  test(`a provider that rejects ${endpoint} with ${status} is shown as ${shown}`, async () => {
    const { error } = await play(OPERATION_RULES[endpoint], [{ status }])
    assert.deepEqual([error?.status, error?.code], [shown, 'upstream_rejected'])
  })
}

test('an error answer that breaks off counts by its status', async () => {
  const limitedKey = await play(OPERATION_RULES.chat, [{ status: 429, cut: 'reset' }])
  assert.deepEqual([limitedKey.asked.length, limitedKey.error?.code], [1, 'rate_limited'])
  const refused = await play(OPERATION_RULES.chat, [{ status: 400, cut: 'malformed' }, 'good'])
  assert.deepEqual([refused.asked.length, refused.error?.code], [1, 'upstream_rejected'])
})

test('a running request does not fail over to a route that was disabled meanwhile', async () => {
  const routesOf = ({ asked }: Outcome) => asked.map(({ route }) => route)
  const deeds: Deed[] = [{ status: 500 }, 'good', 'good']
  assert.deepEqual(routesOf(await play(OPERATION_RULES.chat, deeds)), ['0', '1'])
  assert.deepEqual(routesOf(await play(OPERATION_RULES.chat, deeds, [1])), ['0', '2'])
  const refused = await play(OPERATION_RULES.chat, deeds, [1, 2])
  assert.deepEqual([routesOf(refused), refused.error?.code], [['0'], 'upstream_unavailable'])
})

test('a registered provider does not decide that a request is at fault, and its words are not shown', () => {
  const provider = { message: 'Visit evil.example', code: 'context_length_exceeded' }
  for (const status of [400, 403, 413, 422]) {
    const refusal = refusalOfRegistered(classifyRefusal(status, provider, 0))
    assert.deepEqual([refusal.elsewhere, refusal.error.code], [true, 'upstream_unavailable'])
    assert.doesNotMatch(refusal.error.message, /evil/)
  }
})

test('a transport that answers twice, or ends without a head, crashes the request once and is cancelled', () => {
  const head = (status: number) => (listener: UpstreamListener) => listener.onHead(status, { get: () => undefined })
  const end = (listener: UpstreamListener) => listener.onEnd()
  for (const deeds of [[end], [head(200), head(200)], [head(503), head(200)], [head(200), head(503), head(503)]]) {
    const crashes: unknown[] = []
    let cancels = 0
    let sent: UpstreamListener | undefined
    const send = (_request: UpstreamRequest, listener: UpstreamListener) => {
      sent = listener
      return { pause: () => undefined, resume: () => undefined, cancel: () => void cancels++, letGo: () => undefined }
    }
    const attempts = new Attempts({
      transport: { send, close: () => Promise.resolve() },
      health: new RouteHealth(limits),
      limits,
      rule: OPERATION_RULES.chat,
      accountId: 'acct',
      routes: testRoutes(1),
      makeRequest: requestTo,
      listener: {
        onAttempt: () => undefined,
        onAnswer: () => undefined,
        onData: () => undefined,
        onEnd: () => assert.fail('the answer has no end'),
        onBroken: () => assert.fail('nothing was committed'),
        onRefused: () => assert.fail('no error answer has ended'),
        onCrashed: (error) => void crashes.push(error),
      },
      onFault: () => undefined,
    })
    attempts.start()
    assert.ok(sent)
    for (const deed of deeds) deed(sent)
    assert.equal(cancels, 1)
    assert.equal(crashes.length, 1)
    assert.ok(crashes[0] instanceof PhaseFault)
  }
})
