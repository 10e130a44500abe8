import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { DIALECTS, type Dialect } from '../../../../contract/catalog/dialects.ts'
import { GatewayError } from '../../../../contract/errors/errors.ts'
import { sluice } from '../../../../contract/wire/generated/messages.js'
import { decodeCatalog, type Model } from '../../../../proxy/catalog/catalog.ts'
import { chooseRoutes, type RoutePolicy } from '../../../../proxy/upstream/chooseRoutes.ts'
import { RouteHealth } from '../../../../proxy/upstream/routeHealth.ts'
import { limits } from '../../../support/limits.ts'
import { itemOf } from '../../../support/present.ts'

const NOW_MS = 1_000_000
const ANY: ReadonlySet<Dialect> = new Set(DIALECTS)

interface RouteSpec {
  readonly enabled: boolean
  readonly policy: 'none' | 'retained'
  readonly dialect: 'openai' | 'anthropic'
  readonly keySet: boolean
  readonly costUnits: number | null
  readonly open: boolean
  /** How long the report of its hardware still counts; null for none. */
  readonly reportMs: number | null
}

/** A model as the proxy reads it from control's record; each route has a provider of its own. */
function modelOf(routes: readonly RouteSpec[]): Model {
  const record = sluice.CatalogRecord.encode({
    version: 1,
    coinUsdUnits: 1,
    providers: routes.map(({ policy, dialect, keySet, reportMs }, index) => ({
      id: `p${index}`,
      baseUrl: 'http://127.0.0.1:1/v1',
      dialect,
      dataPolicy: policy,
      apiKeyEnv: keySet ? 'SET' : 'UNSET',
      ...(reportMs !== null && { report: { id: `att_${index}`, validUntilMs: NOW_MS + reportMs } }),
    })),
    models: [
      {
        id: 'm',
        attested: true,
        modality: 'chat',
        endpoints: ['chat'],
        rates: { input: 1, output: 1 },
        routes: routes.map(({ enabled, costUnits }, index) => ({
          provider: `p${index}`,
          model: 'x',
          enabled,
          ...(costUnits !== null && { costUnits }),
        })),
      },
    ],
  }).finish()
  const model = decodeCatalog(record, { SET: 'key' }).models.get('m')
  assert.ok(model !== undefined)
  return model
}

function healthOf(routes: readonly RouteSpec[]): RouteHealth {
  const health = new RouteHealth(limits)
  for (const [index, { open }] of routes.entries()) if (!open) health.coolDown(`p${index}/x`, NOW_MS + 5_000)
  return health
}

function choose(routes: readonly RouteSpec[], policy: RoutePolicy): readonly number[] | GatewayError {
  try {
    const chosen = chooseRoutes(modelOf(routes), policy, healthOf(routes), NOW_MS)
    return chosen.map((route) => Number(route.provider.id.slice(1)))
  } catch (error) {
    assert.ok(error instanceof GatewayError, String(error))
    return error
  }
}

const WISHES: RoutePolicy = {
  allowRetention: false,
  allowRegistered: true,
  cheapest: false,
  attested: false,
  dialects: ANY,
}
const spec: fc.Arbitrary<RouteSpec> = fc.record({
  enabled: fc.boolean(),
  policy: fc.constantFrom('none', 'retained'),
  dialect: fc.constantFrom('openai', 'openai', 'anthropic'),
  keySet: fc.boolean(),
  costUnits: fc.option(fc.integer({ min: 0, max: 3 }), { nil: null }),
  open: fc.boolean(),
  reportMs: fc.constantFrom(null, -1, 0, 1),
})
const policies: fc.Arbitrary<RoutePolicy> = fc.record({
  allowRetention: fc.boolean(),
  allowRegistered: fc.boolean(),
  cheapest: fc.boolean(),
  dialects: fc.constantFrom(ANY, new Set(['openai'] as const), new Set(['anthropic'] as const)),
  attested: fc.boolean(),
})

test('property: chosen routes are exactly those that the policy, the catalog and the keys allow', () => {
  fc.assert(
    fc.property(fc.array(spec, { maxLength: 8 }), policies, (routes, policy) => {
      const usable = routes.flatMap((route, index) =>
        route.enabled && route.keySet && policy.dialects.has(route.dialect) ? [index] : [],
      )
      const allowed = usable.filter((index) => policy.allowRetention || itemOf(routes, index).policy === 'none')
      const proved = allowed.filter((index) => !policy.attested || (itemOf(routes, index).reportMs ?? 0) > 0)
      const open = proved.filter((index) => itemOf(routes, index).open)
      const chosen = choose(routes, policy)
      if (usable.length === 0) return assert.equal((chosen as GatewayError).code, 'model_unavailable')
      if (allowed.length === 0) return assert.equal((chosen as GatewayError).code, 'no_route_for_policy')
      if (proved.length === 0) return assert.equal((chosen as GatewayError).code, 'model_unverified')
      if (open.length === 0) {
        assert.ok(chosen instanceof GatewayError)
        return assert.deepEqual([chosen.code, chosen.retryAfterSeconds], ['model_unavailable', 5])
      }
      assert.ok(!(chosen instanceof GatewayError))
      assert.deepEqual([...chosen].sort(), open)
      assertOrder(routes, chosen, policy.cheapest)
    }),
    { numRuns: 2_000 },
  )
})

/** In the order of the catalog, or by what is stated of the cost, with the catalog's order among equals. */
function assertOrder(routes: readonly RouteSpec[], chosen: readonly number[], cheapest: boolean): void {
  for (let i = 1; i < chosen.length; i++) {
    const before = itemOf(chosen, i - 1)
    const after = itemOf(chosen, i)
    const cost = (index: number) => itemOf(routes, index).costUnits ?? Number.POSITIVE_INFINITY
    if (cheapest && cost(before) !== cost(after)) assert.ok(cost(before) < cost(after))
    else assert.ok(before < after)
  }
}

test('the cheapest route is first, and routes of unknown cost are last', () => {
  const base: RouteSpec = {
    enabled: true,
    policy: 'none',
    dialect: 'openai',
    keySet: true,
    costUnits: null,
    open: true,
    reportMs: null,
  }
  const routes = [null, 3, 1, null, 2].map((costUnits) => ({ ...base, costUnits }))
  assert.deepEqual(choose(routes, { ...WISHES, allowRetention: true, cheapest: false }), [0, 1, 2, 3, 4])
  assert.deepEqual(choose(routes, { ...WISHES, allowRetention: true, cheapest: true }), [2, 4, 1, 0, 3])
  const kept = routes.map((route, index): RouteSpec => (index === 2 ? { ...route, policy: 'retained' } : route))
  assert.deepEqual(choose(kept, { ...WISHES, allowRetention: false, cheapest: true }), [4, 1, 0, 3])
})

test('the private tier has no route of a model that is not attested, even on an attested provider', () => {
  const spec = { enabled: true, policy: 'none', dialect: 'openai', keySet: true, costUnits: null, open: true } as const
  const model = { ...modelOf([{ ...spec, reportMs: 1 }]), attested: false }
  const policy = { ...WISHES, attested: true }
  assert.throws(() => chooseRoutes(model, policy, new RouteHealth(limits), NOW_MS), { code: 'no_route_for_policy' })
})
