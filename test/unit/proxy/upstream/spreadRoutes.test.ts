// Goal: routes of one priority are asked by the order of their model: by price, or by the time to the first token as streams have
// shown it. Method: models as the proxy decodes them, every kind of affinity, and a clock that the test sets.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { placeOf } from '../../../../contract/std/fnv1a.ts'
import type { Model } from '../../../../proxy/catalog/catalog.ts'
import { chooseRoutes } from '../../../../proxy/upstream/chooseRoutes.ts'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import { limits } from '../../../support/limits.ts'
import { type KeyedSpec, keyedModel } from '../../../support/parts/keyedRoutes.ts'

const AFFINITIES = Array.from({ length: 1_600 }, (_, at) => at)
const NOW_MS = 1_000_000

const spec = (provider: string, members: Partial<KeyedSpec> = {}): KeyedSpec => ({
  provider,
  keys: { a: `sk-${provider}` },
  ...members,
})

/** The providers in the order that a conversation asks them. */
function orderOf(model: Model, affinity: number, health = new RouteHealth(limits), cheapest = false): string {
  const policy = { allowRetention: true, allowRegistered: false, cheapest, attested: false, affinity }
  const routes = chooseRoutes(model, { ...policy, dialects: new Set(['openai'] as const) }, health, NOW_MS)
  return routes.map(({ provider }) => provider.id).join(' ')
}

/** Every order that conversations have, with how many of them. */
function orders(model: Model, health?: RouteHealth): Map<string, number> {
  const found = new Map<string, number>()
  for (const affinity of AFFINITIES) {
    const order = orderOf(model, placeOf(`conversation ${affinity}`), health)
    found.set(order, (found.get(order) ?? 0) + 1)
  }
  return found
}

/** Health that has measured these routes. */
function measured(times: Readonly<Record<string, number>>, atMs = NOW_MS): RouteHealth {
  const health = new RouteHealth(limits)
  for (const [provider, ms] of Object.entries(times)) health.firstTokens.note(`${provider}/x`, ms, atMs)
  return health
}

test('by price, the cheapest route is first, and one without a cost last', () => {
  const model = keyedModel([spec('dear', { costUnits: 9 }), spec('unknown'), spec('cheap', { costUnits: 2 })], 'price')
  assert.deepEqual([...orders(model).keys()], ['cheap dear unknown'])
})

test('routes of one price share conversations by their weights', () => {
  const costUnits = 2
  const some = [spec('a', { costUnits, priority: 1, weight: 3 }), spec('b', { costUnits, priority: 1, weight: 1 })]
  const found = orders(keyedModel([...some, spec('dear', { costUnits: 5, priority: 1 })], 'price'))
  assert.deepEqual([...found.keys()].sort(), ['a b dear', 'b a dear'])
  assert.ok((found.get('a b dear') ?? 0) > 2 * (found.get('b a dear') ?? 0))
})

test('the priority counts before the price', () => {
  const specs = [spec('dear', { costUnits: 9, priority: 1 }), spec('cheap', { costUnits: 1, priority: 2 })]
  assert.deepEqual([...orders(keyedModel(specs, 'price')).keys()], ['dear cheap'])
})

test('without an order, routes are asked as the catalog lists them, whatever they cost or take', () => {
  const model = keyedModel([spec('dear', { costUnits: 9 }), spec('cheap', { costUnits: 1 })])
  assert.deepEqual([...orders(model, measured({ dear: 900, cheap: 10 })).keys()], ['dear cheap'])
  assert.deepEqual([model.leavesChoice, model.routes.some(({ timed }) => timed === true)], [false, false])
})

test('by the first token, the route whose streams begin soonest is first', () => {
  const model = keyedModel([spec('slow'), spec('fast'), spec('middle')], 'first_token')
  assert.deepEqual([...orders(model, measured({ slow: 900, fast: 100, middle: 300 })).keys()], ['fast middle slow'])
})

test('routes that are about as fast share conversations', () => {
  const model = keyedModel([spec('a'), spec('b'), spec('slow')], 'first_token')
  const found = orders(model, measured({ a: 100, b: 95, slow: 300 }))
  assert.deepEqual([...found.keys()].sort(), ['a b slow', 'b a slow'])
})

test('one of sixteen conversations tries a route that is not measured; of the others it is last', () => {
  const model = keyedModel([spec('new'), spec('known')], 'first_token')
  const health = measured({ known: 100 })
  const first = AFFINITIES.filter((affinity) => orderOf(model, affinity, health) === 'new known')
  assert.equal(first.length, AFFINITIES.length / 16)
})

test('a time that is five minutes old counts no more', () => {
  const model = keyedModel([spec('old'), spec('slow')], 'first_token')
  const health = measured({ old: 10 }, NOW_MS - limits.firstTokenKeptMs)
  health.firstTokens.note('slow/x', 900, NOW_MS)
  assert.ok((orders(model, health).get('slow old') ?? 0) > AFFINITIES.length / 2)
})

test('while none is measured, routes share conversations', () => {
  const found = orders(keyedModel([spec('a'), spec('b')], 'first_token'))
  assert.deepEqual([...found.keys()].sort(), ['a b', 'b a'])
})

test(':cheapest counts before the order of the model', () => {
  const model = keyedModel([spec('fast', { costUnits: 9 }), spec('cheap', { costUnits: 1 })], 'first_token')
  assert.equal(orderOf(model, 1, measured({ fast: 10, cheap: 900 }), true), 'cheap fast')
})

test('a route that cannot be asked is left out, however cheap it is', () => {
  const model = keyedModel([spec('cheap', { costUnits: 1 }), spec('dear', { costUnits: 9 })], 'price')
  const health = new RouteHealth(limits)
  health.coolDown('cheap/x', NOW_MS + 1)
  assert.equal(orderOf(model, 1, health), 'dear')
})
