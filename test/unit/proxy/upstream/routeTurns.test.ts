// Goal: an answer that refuses a key costs the client nothing while another key or route has room, and the wait that a client is
// told is the least. Method: Attempts over routes with keys whose provider answers by plan.
import assert from 'node:assert/strict'
import { after, before, mock, test } from 'node:test'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import type { Secret } from '../../../../contract/providers/providerKeys.ts'
import type { Model } from '../../../../proxy/catalog/catalog.ts'
import { Attempts } from '../../../../proxy/upstream/attempts.ts'
import { chooseRoutes } from '../../../../proxy/upstream/chooseRoutes.ts'
import { KeyHealth } from '../../../../proxy/upstream/keys/keyHealth.ts'
import { OPERATION_RULES } from '../../../../proxy/upstream/operationRules.ts'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import { HeaderBlock } from '../../../../proxy/upstream/transport/headerBlock.ts'
import type { Transport, UpstreamRequest } from '../../../../proxy/upstream/transport/transport.ts'
import { limits } from '../../../support/limits.ts'
import { type KeyedSpec, keyedModel } from '../../../support/parts/keyedRoutes.ts'

/** The answer to a request with a secret: a status, and seconds of Retry-After where there are any. */
type Plan = Readonly<Record<string, readonly [status: number, retryAfter?: number]>>

const NOON_MS = Date.UTC(2026, 10, 21, 12)

// Keys rest for a second where the provider states no time: the clock stands still, as a busy machine does not.
before(() => mock.timers.enable({ apis: ['Date'], now: NOON_MS }))
after(() => mock.timers.reset())

class World {
  readonly health: RouteHealth
  readonly model: Model
  asked: string[] = []
  private readonly plan: Plan

  constructor(specs: readonly KeyedSpec[], plan: Plan, reread?: () => Secret) {
    this.model = keyedModel(specs)
    this.plan = plan
    this.health = new RouteHealth(limits, new KeyHealth({ limits, ...(reread && { reread }) }))
  }

  /** One request. @returns the secrets that it was sent with, and the error of its client */
  async ask(affinity = 0): Promise<{ asked: string[]; error: GatewayError | null }> {
    this.asked = []
    const policy = { allowRetention: true, allowRegistered: false, cheapest: false, attested: false, affinity }
    const dialects = new Set(['openai'] as const)
    let routes: ReturnType<typeof chooseRoutes>
    try {
      routes = chooseRoutes(this.model, { ...policy, dialects }, this.health, Date.now())
    } catch (error) {
      assert.ok(error instanceof GatewayError)
      return { asked: [], error }
    }
    const error = await new Promise<GatewayError | null>((resolve) => {
      const attempts = new Attempts({
        transport: this.transport(),
        health: this.health,
        limits,
        rule: OPERATION_RULES.chat,
        accountId: 'acct',
        routes,
        makeRequest: ({ provider }) => requestWith(provider.apiKey),
        listener: {
          onAttempt: () => undefined,
          onAnswer: () => undefined,
          onData: () => undefined,
          onEnd: () => {
            attempts.commit()
            resolve(null)
          },
          onBroken: () => assert.fail('nothing breaks'),
          onRefused: resolve,
          onCrashed: (fault) => assert.fail(String(fault)),
        },
        onFault: () => undefined,
      })
      attempts.start()
    })
    return { asked: this.asked, error }
  }

  private transport(): Transport {
    return {
      send: (request, listener) => {
        this.asked.push(request.path)
        const [status, retryAfter] = this.plan[request.path] ?? [200]
        setImmediate(() => {
          listener.onHead(status, { get: (name) => (name === 'retry-after' ? retryAfter?.toString() : undefined) })
          listener.onEnd()
        })
        return { pause: () => undefined, resume: () => undefined, cancel: () => undefined, letGo: () => undefined }
      },
      close: () => Promise.resolve(),
    }
  }
}

function requestWith(secret: string): UpstreamRequest {
  return {
    origin: 'http://acme.test',
    host: 'acme.test',
    path: secret,
    method: 'POST',
    headers: new HeaderBlock([]),
    requestId: 'req_test',
    body: '{}',
    connectTimeoutMs: 1,
    firstByteTimeoutMs: 1,
    idleTimeoutMs: 1,
    totalTimeoutMs: 1,
    fresh: false,
  }
}

const ACME = { provider: 'acme', keys: { a: 'sk-a', b: 'sk-b', c: 'sk-c' } }
const OTHER = { provider: 'other', keys: { z: 'sk-z' } }

for (const status of [401, 402, 429]) {
  test(`a key that is refused with ${status} is left within the request, and for later ones`, async () => {
    const world = new World([ACME], { 'sk-a': [status, 30], 'sk-b': [200], 'sk-c': [status, 30] })
    for (let affinity = 0; affinity < 50; affinity++) assert.equal((await world.ask(affinity)).error, null)
    for (let affinity = 0; affinity < 50; affinity++) {
      assert.deepEqual((await world.ask(affinity)).asked, ['sk-b'], 'the others are out')
    }
  })
}

test('requests keep the key that their affinity prefers', async () => {
  const world = new World([ACME], {})
  for (let affinity = 0; affinity < 30; affinity++) {
    const [first] = (await world.ask(affinity)).asked
    for (let turn = 0; turn < 3; turn++) assert.deepEqual((await world.ask(affinity)).asked, [first])
  }
})

test('the next route is asked when all keys are out, and the client is told nothing', async () => {
  const world = new World([ACME, OTHER], { 'sk-a': [401], 'sk-b': [429], 'sk-c': [402] })
  const { asked, error } = await world.ask()
  assert.equal(error, null)
  assert.deepEqual([asked.length, asked.at(-1)], [4, 'sk-z'])
  assert.deepEqual((await world.ask()).asked, ['sk-z'])
})

test('with no key and no route left, the client gets 429 with the least wait, and so do those after it', async () => {
  const world = new World([ACME], { 'sk-a': [429, 40], 'sk-b': [429, 12], 'sk-c': [429, 55] })
  const { asked, error } = await world.ask()
  assert.equal(asked.length, 3)
  assert.deepEqual([error?.row, error?.retryAfterSeconds], ['rate_limited', 12])
  const later = await world.ask(1)
  assert.deepEqual([later.asked, later.error?.row, later.error?.retryAfterSeconds], [[], 'rate_limited', 12])
})

test('the wait is the least over the routes as well', async () => {
  const second = { provider: 'other', keys: { z: 'sk-z' } }
  const world = new World([ACME, second], {
    'sk-a': [429, 40],
    'sk-b': [429, 12],
    'sk-c': [429, 55],
    'sk-z': [429, 30],
  })
  const { error } = await world.ask()
  assert.deepEqual([error?.row, error?.retryAfterSeconds], ['rate_limited', 12])
})

test('keys without money are no limit of a rate: the client is told that no provider serves', async () => {
  const world = new World([ACME], { 'sk-a': [402], 'sk-b': [402], 'sk-c': [402] })
  assert.equal((await world.ask()).error?.row, 'upstream_unavailable')
  assert.equal((await world.ask()).error?.row, 'model_unavailable')
})

test('a fault of the route is not tried with each of its keys, and counts for its breaker', async () => {
  const world = new World([ACME, OTHER], { 'sk-a': [500], 'sk-b': [500], 'sk-c': [500] })
  const { asked } = await world.ask()
  assert.deepEqual([asked.length, asked[1]], [2, 'sk-z'])
  for (let i = 0; i < 40; i++) await world.ask()
  assert.deepEqual((await world.ask()).asked, ['sk-z'], 'the breaker is open')
})

test('a fault of the request ends it: no other key is asked', async () => {
  const world = new World([ACME], { 'sk-a': [400], 'sk-b': [400], 'sk-c': [400] })
  const { asked, error } = await world.ask()
  assert.deepEqual([asked.length, error?.row], [1, 'upstream_rejected'])
})

test('a secret that was replaced is asked again within the request, on a provider with one key as well', async () => {
  const reread = () => ({ text: 'sk-new', fault: '' })
  const world = new World([{ provider: 'acme', keys: { a: 'sk-a' } }], { 'sk-a': [401] }, reread)
  const { asked, error } = await world.ask()
  assert.deepEqual([asked, error], [['sk-a', 'sk-new'], null])
  assert.equal(world.health.isOpen('acme/x', Date.now()), true)
})

test('a provider that refuses whatever it is sent is asked a bounded number of times', async () => {
  let made = 0
  const reread = () => ({ text: `sk-${++made}`, fault: '' })
  const plan: Plan = new Proxy({}, { get: () => [401] as const })
  const { asked, error } = await new World([ACME], plan, reread).ask()
  assert.equal(asked.length, limits.keyAttemptsMax)
  assert.ok(error !== null)
})

test('a new secret opens the route that its refused one had closed', async () => {
  const world = new World([{ provider: 'acme', keys: { a: 'sk-a' } }], { 'sk-a': [402] })
  await world.ask()
  const isOpen = () => world.health.isOpen('acme/x', Date.now())
  const changeTo = (keys: Record<string, string>) =>
    world.health.keysChanged(keyedModel([{ provider: 'acme', keys }]).routes, Date.now())
  assert.equal(isOpen(), false)
  changeTo({ a: 'sk-a' })
  assert.equal(isOpen(), false, 'it is the same secret')
  changeTo({ a: 'sk-2' })
  assert.equal(isOpen(), true)
})

test('a key that is added opens a route whose keys are all out', async () => {
  const world = new World([{ provider: 'acme', keys: { a: 'sk-a', b: 'sk-b' } }], { 'sk-a': [402], 'sk-b': [429, 50] })
  await world.ask()
  assert.equal(world.health.isOpen('acme/x', Date.now()), false)
  const more = keyedModel([{ provider: 'acme', keys: { a: 'sk-a', b: 'sk-b', c: 'sk-c' } }])
  world.health.keysChanged(more.routes, Date.now())
  assert.equal(world.health.isOpen('acme/x', Date.now()), true)
})

test('routes of one priority share conversations, and stand in for each other', async () => {
  const shares = [
    { provider: 'one', keys: { a: 'sk-1' }, priority: 1, weight: 3 },
    { provider: 'two', keys: { a: 'sk-2' }, priority: 1, weight: 1 },
    { provider: 'spare', keys: { a: 'sk-3' }, priority: 2 },
  ]
  const world = new World(shares, {})
  const firsts: (string | undefined)[] = []
  for (let i = 0; i < 4_000; i++) firsts.push((await world.ask(i * 0x9e3779b1)).asked[0])
  const ofOne = firsts.filter((secret) => secret === 'sk-1').length
  assert.ok(Math.abs(ofOne - 3_000) <= 150, String(ofOne))
  assert.ok(!firsts.includes('sk-3'))
  const broken = new World(shares, { 'sk-1': [500], 'sk-2': [500] })
  assert.deepEqual((await broken.ask()).asked.at(-1), 'sk-3')
})
