import assert from 'node:assert/strict'
import { test } from 'node:test'
import { DIALECTS } from '../../../../contract/catalog/dialects.ts'
import { newId } from '../../../../contract/wire/ids.ts'
import type { Canary } from '../../../../proxy/catalog/canary.ts'
import type { Model } from '../../../../proxy/catalog/catalog.ts'
import type { Route } from '../../../../proxy/catalog/pricedItem.ts'
import { chooseCanary, placeInMillion } from '../../../../proxy/upstream/chooseCanary.ts'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import { limitsWith } from '../../../support/limits.ts'

const provider = (
  id: string,
  dataPolicy: 'none' | 'retained' = 'none',
  dialect: 'openai' | 'anthropic' = 'openai',
) => ({
  id,
  origin: 'https://provider.example',
  host: 'provider.example',
  basePath: '/v1',
  dialect,
  apiKey: '',
  missingKey: '',
  dataPolicy,
  maxTokensField: '',
  form: null,
  privateImages: false,
  report: null,
})
const route = (of: ReturnType<typeof provider>): Route => ({
  id: `${of.id}/m`,
  provider: of,
  upstreamModel: 'm',
  enabled: true,
  switchedOff: false,
  offered: true,
  costUnits: null,
})
const canary = (of: ReturnType<typeof provider>, trafficPpm: number): Canary => ({
  route: { ...route(of), registered: { model: 'm', firstOutputMaxMs: 100 } },
  trafficPpm,
  accountId: `acct_${of.id}`,
})
const modelWith = (canaries: readonly Canary[]) =>
  ({ canaries, enabledRoutes: [route(provider('catalog'))] }) as unknown as Model
const WISHES = { allowRetention: false, allowRegistered: true, cheapest: false, dialects: new Set(DIALECTS) }
const ASKER = { requestId: newId('req'), accountId: 'acct_other' }
const limits = limitsWith({})

const chosen = (model: Model, wishes: Partial<Parameters<typeof chooseCanary>[1]> = {}, asker = ASKER) =>
  chooseCanary(model, { ...WISHES, ...wishes }, asker, new RouteHealth(limits), 0)?.provider.id

test('ids are spread evenly, so that each provider gets its share', () => {
  const model = modelWith([canary(provider('a'), 50_000), canary(provider('b'), 200_000)])
  const counts = new Map<string | undefined, number>()
  const requests = 40_000
  for (let i = 0; i < requests; i++) {
    // Ids of a fixed time and counted ends are more alike than any that are made.
    const requestId = `req_01M84JHGQ6${i.toString(32).toUpperCase().padStart(16, '0')}`
    const id = chosen(model, {}, { ...ASKER, requestId })
    counts.set(id, (counts.get(id) ?? 0) + 1)
  }
  // Five standard deviations.
  for (const [id, share] of [
    ['a', 0.05],
    ['b', 0.2],
  ] as const) {
    const spread = 5 * Math.sqrt(requests * share * (1 - share))
    const count = counts.get(id) ?? 0
    assert.ok(Math.abs(count - requests * share) < spread, `${id} got ${count} of ${requests}`)
  }
})

test('the same id always gets the same decision', () => {
  for (let i = 0; i < 100; i++) {
    const id = newId('req')
    assert.equal(placeInMillion(id), placeInMillion(`${id.slice(0, 9)}${id.slice(9)}`))
    assert.ok(placeInMillion(id) >= 0 && placeInMillion(id) < 1_000_000)
  }
})

test('a provider serves only requests that it is allowed to', () => {
  const all = modelWith([canary(provider('a'), 1_000_000)])
  assert.equal(chosen(all), 'a')
  assert.equal(chosen(all, {}, { ...ASKER, accountId: 'acct_a' }), undefined)
  assert.equal(chosen(all, { cheapest: true }), undefined)
  assert.equal(chosen(all, { allowRegistered: false }), undefined)
  assert.equal(chosen(all, { privateImage: 'messages' }), undefined)
  assert.equal(chosen(all, { dialects: new Set(['anthropic'] as const) }), undefined)
  const keeping = modelWith([canary(provider('k', 'retained'), 1_000_000)])
  assert.equal(chosen(keeping), undefined)
  assert.equal(chosen(keeping, { allowRetention: true }), 'k')
  // What is held goes by the dialects of the catalog's routes.
  assert.equal(chosen(modelWith([canary(provider('x', 'none', 'anthropic'), 1_000_000)])), undefined)
})

test('a provider whose breaker is open is skipped', () => {
  const health = new RouteHealth(limits)
  for (let i = 0; i < limits.breakerFailures; i++) health.failed('a/m', 0)
  const model = modelWith([canary(provider('a'), 1_000_000)])
  assert.equal(chooseCanary(model, WISHES, ASKER, health, 1), undefined)
})
