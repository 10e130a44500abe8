// Goal: requests are kept from a key exactly while its provider would refuse it, as far as that is known. Method: refusals and
// successes at set times.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Route } from '../../../../../proxy/catalog/pricedItem.ts'
import { KeyHealth, type KeyHealthOptions } from '../../../../../proxy/upstream/keys/keyHealth.ts'
import { limits } from '../../../../support/limits.ts'
import { keyedModel } from '../../../../support/parts/keyedRoutes.ts'
import { itemOf, present } from '../../../../support/present.ts'

const T = 1_000_000

function keysOf(): readonly Route[] {
  const [route] = keyedModel([{ provider: 'acme', keys: { a: 'sk-a', b: 'sk-b' } }]).routes
  return present(route?.keyed)
}

const elsewhere = (route: Route): Route => ({ ...route, id: 'acme/other' })
const withSecret = (route: Route, apiKey: string): Route => ({ ...route, provider: { ...route.provider, apiKey } })

function begin(options: Partial<KeyHealthOptions> = {}): { health: KeyHealth; a: Route; b: Route } {
  const routes = keysOf()
  return { health: new KeyHealth({ limits, ...options }), a: itemOf(routes, 0), b: itemOf(routes, 1) }
}

test('a refused key is out for all routes until its secret changes, and then alone for the trial of one request', () => {
  const { health, a, b } = begin()
  assert.equal(health.refused(a, 'account', 0, T), undefined)
  assert.deepEqual([health.isOut(a, T), health.isOut(elsewhere(a), T), health.isOut(b, T)], [true, true, false])
  assert.equal(health.isOut(withSecret(a, 'sk-new'), T), false, 'another secret is not out')
  const backMs = T + limits.accountFaultCoolMs
  assert.deepEqual([health.isOut(a, backMs - 1), health.isOut(a, backMs)], [true, false])
  health.started(a, backMs)
  assert.equal(health.isOut(a, backMs), true, 'one request tries it')
  health.worked(a, backMs + 1)
  assert.equal(health.isOut(a, backMs + 1), false)
})

test('a trial that is refused puts the key out again', () => {
  const { health, a } = begin()
  health.refused(a, 'account', 0, T)
  const backMs = T + limits.accountFaultCoolMs
  health.started(a, backMs)
  health.refused(a, 'account', 0, backMs + 1)
  assert.equal(health.isOut(a, backMs + limits.accountFaultCoolMs), true)
})

test('a limited key is out for its route alone, for as long as the provider says', () => {
  const { health, a } = begin()
  health.refused(a, 'rate', 7_000, T)
  assert.deepEqual([health.isOut(a, T + 6_999), health.isOut(a, T + 7_000)], [true, false])
  assert.equal(health.isOut(elsewhere(a), T), false)
})

test('where the provider does not say for how long, the rest doubles from a second to a minute, and a success ends that', () => {
  const { health, a } = begin()
  let nowMs = T
  const rests: number[] = []
  for (let i = 0; i < 8; i++) {
    health.started(a, nowMs)
    health.refused(a, 'rate', 0, nowMs)
    rests.push(present(health.allOut([a], nowMs)).untilMs - nowMs)
    nowMs += rests.at(-1) ?? 0
  }
  assert.deepEqual(rests, [1_000, 2_000, 4_000, 8_000, 16_000, 32_000, 60_000, 60_000])
  health.started(a, nowMs)
  health.worked(a, nowMs)
  health.refused(a, 'rate', 0, nowMs)
  assert.equal(present(health.allOut([a], nowMs)).untilMs - nowMs, 1_000)
})

test('a key that is denied is out for its route alone, and never longer than a breaker is open', () => {
  const { health, a } = begin()
  let nowMs = T
  for (let i = 0; i < 6; i++) {
    health.started(a, nowMs)
    health.refused(a, 'denied', 0, nowMs)
    assert.equal(health.isOut(elsewhere(a), nowMs), false)
    nowMs = present(health.allOut([a], nowMs)).untilMs
  }
  health.started(a, nowMs)
  health.refused(a, 'denied', 0, nowMs)
  assert.equal(present(health.allOut([a], nowMs)).untilMs - nowMs, limits.breakerOpenMs)
})

test('requests that are refused together count once', () => {
  const told: boolean[] = []
  const { health, a } = begin({ onOut: (_key, _fault, isNew) => told.push(isNew) })
  for (let i = 0; i < 50; i++) health.refused(a, 'rate', 0, T + i)
  assert.equal(health.isOut(a, T + limits.keyRestMs), false)
  assert.deepEqual(told, [true])
})

test('an answer that was asked for before the key went out does not bring it back', () => {
  const { health, a } = begin()
  health.refused(a, 'account', 0, T)
  health.worked(a, T + 1)
  assert.equal(health.isOut(a, T + 1), true)
})

test('a secret that was replaced meanwhile is used at once, and nothing is out', () => {
  const read: unknown[] = []
  const reread: KeyHealthOptions['reread'] = (source) => {
    read.push(source)
    return { text: 'sk-new', fault: '' }
  }
  const { health, a } = begin({ reread })
  assert.equal(health.refused(a, 'account', 0, T)?.provider.apiKey, 'sk-new')
  assert.deepEqual(read, [{ env: 'acme_a', file: '' }])
  assert.equal(health.isOut(a, T), false)
  assert.equal(health.refused(withSecret(a, 'sk-new'), 'account', 0, T), undefined, 'the new one is refused as well')
  assert.equal(health.isOut(withSecret(a, 'sk-new'), T), true)
})

test('a quota is no reason to read the secret again', () => {
  const { health, a } = begin({ reread: () => assert.fail('it is not read') })
  assert.equal(health.refused(a, 'rate', 0, T), undefined)
})

test('what is known of a replaced secret is forgotten, on each of its routes', () => {
  const { health, a, b } = begin()
  health.refused(a, 'account', 0, T)
  assert.equal(health.forgetReplaced([a, b]).size, 0)
  const renewed = withSecret(a, 'sk-new')
  assert.deepEqual([...health.forgetReplaced([renewed, elsewhere(renewed), b])], [a.id, 'acme/other'])
  assert.equal(health.isOut(a, T), false)
})

test('the keys of a route are all out until the first is back', () => {
  const { health, a, b } = begin()
  health.refused(a, 'rate', 5_000, T)
  assert.equal(health.allOut([a, b], T), undefined)
  health.refused(b, 'account', 0, T)
  assert.deepEqual(health.allOut([a, b], T), { untilMs: T + 5_000, limited: true })
  assert.equal(health.allOut([a, b], T + 5_000), undefined)
})

test('the keys that are out are listed with the reason and the end', () => {
  const { health, a, b } = begin()
  assert.deepEqual(health.outNow(T), [])
  health.refused(a, 'account', 0, T)
  health.refused(b, 'rate', 4_000, T)
  assert.deepEqual(health.outNow(T), [
    { key: 'acme/a', fault: 'account', untilMs: T + limits.accountFaultCoolMs },
    { key: 'acme/b', fault: 'rate', untilMs: T + 4_000 },
  ])
  assert.equal(health.outNow(T + 4_000).length, 1)
})
