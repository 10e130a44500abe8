import assert from 'node:assert/strict'
import test from 'node:test'
import type { Principal } from '../../../../../proxy/access/principal.ts'
import type { Model } from '../../../../../proxy/catalog/catalog.ts'
import { tierRates } from '../../../../../proxy/endpoints/run/checkModel.ts'

const rates = (attested: boolean, privateTier: boolean, ratesPrivate: string | null): string => {
  const model = { id: 'a/b', attested } as Model
  return tierRates(model, { privateTier } as Principal, 'standard', ratesPrivate)
}

test('the private tier is sold only on attested models, also if an old record has its rates', () => {
  assert.equal(rates(true, true, 'private'), 'private')
  for (const attested of [true, false]) assert.equal(rates(attested, false, 'private'), 'standard')
  assert.throws(() => rates(false, true, 'private'), { code: 'no_route_for_policy' })
  assert.throws(() => rates(true, true, null), { code: 'no_route_for_policy' })
})
