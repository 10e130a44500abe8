// Goal: a route has the keys that can be read and serve its model; the order of routes is as the catalog says. Method: records as
// control publishes them.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { keyedModel } from '../../../support/parts/keyedRoutes.ts'
import { itemOf } from '../../../support/present.ts'

const keysOf = (spec: Parameters<typeof keyedModel>[0][number]): (string | undefined)[] => {
  const { keyed, provider } = itemOf(keyedModel([spec]).routes, 0)
  return (keyed ?? [{ provider }]).map((route) => `${route.provider.key?.id} ${route.provider.apiKey}`)
}

test('a route has each key that can be read', () => {
  assert.deepEqual(keysOf({ provider: 'acme', keys: { a: 'sk-a', b: '', c: 'sk-c' } }), ['a sk-a', 'c sk-c'])
})

test('a route with one key that can be read has no choice', () => {
  const model = keyedModel([{ provider: 'acme', keys: { a: '', b: 'sk-b' } }])
  assert.equal(model.leavesChoice, false)
  assert.deepEqual(keysOf({ provider: 'acme', keys: { a: '', b: 'sk-b' } }), ['b sk-b'])
})

test('a key serves the models that it names alone, and a route without a key is off', () => {
  const spec = { provider: 'acme', keys: { a: 'sk-a', b: 'sk-b' }, models: { a: ['y'] } }
  assert.deepEqual(keysOf(spec), ['b sk-b'])
  const [route] = keyedModel([{ ...spec, models: { a: ['y'], b: ['y'] } }]).routes
  assert.deepEqual([route?.enabled, route?.offered], [false, false])
})

test('a provider none of whose keys can be read is off, and says which', () => {
  const [route] = keyedModel([{ provider: 'acme', keys: { a: '', b: '' } }]).routes
  assert.deepEqual([route?.enabled, route?.provider.missingKey], [false, 'acme_a'])
  assert.deepEqual(
    route?.provider.unread?.map(({ id, fault }) => `${id} ${fault}`),
    ['a not set', 'b not set'],
  )
})

test('routes are in the order of their priorities, and of the catalog where they have none', () => {
  const keys = { a: 'sk-a' }
  const orderOf = (priorities: number[]): string[] =>
    keyedModel(priorities.map((priority, index) => ({ provider: `p${index}`, keys, priority }))).usualOrder.all.map(
      ({ provider }) => provider.id,
    )
  assert.deepEqual(orderOf([3, 1, 2, 1]), ['p1', 'p3', 'p2', 'p0'])
  assert.deepEqual(orderOf([0, 0, 0]), ['p0', 'p1', 'p2'])
})

test('a choice is left by several keys, and by routes of one priority', () => {
  const keys = { a: 'sk-a' }
  const leaves = (...priorities: number[]): boolean =>
    keyedModel(priorities.map((priority, index) => ({ provider: `p${index}`, keys, priority }))).leavesChoice
  assert.deepEqual([leaves(0, 0), leaves(1, 2), leaves(1, 2, 2)], [false, false, true])
  assert.equal(keyedModel([{ provider: 'p', keys: { a: 'sk-a', b: 'sk-b' } }]).leavesChoice, true)
})
