// What has become of a request, as a value: what is charged by status, bill and hold, and that the receipt and the
// settlement say the same.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { NO_USAGE } from '../../../../../contract/money/charge.ts'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { settlementBytes } from '../../../../../proxy/admission/settlementText.ts'
import type { Route } from '../../../../../proxy/catalog/pricedItem.ts'
import type { Bill, RunStatus } from '../../../../../proxy/endpoints/run/bill.ts'
import { HoldLife, type HoldListener } from '../../../../../proxy/endpoints/run/holdLife.ts'
import type { Metered } from '../../../../../proxy/endpoints/run/metered.ts'
import { NOBODY, Outcome } from '../../../../../proxy/endpoints/run/outcome.ts'
import { RequestMetrics } from '../../../../../proxy/metrics/requestMetrics.ts'
import { limits } from '../../../../support/limits.ts'
import { RecordedExchange } from '../../../../support/parts/recordedExchange.ts'
import { metered, RunWorld, testPrincipal } from '../../../../support/parts/runWorld.ts'
import { itemOf } from '../../../../support/present.ts'

const billOf = (units: number): Bill => ({ units, usage: NO_USAGE, quantity: 2, source: 'estimated' })

interface Circumstances {
  readonly privateTier?: boolean
  readonly route?: Route
  readonly lockUnits?: number
}

function outcomeOf(
  status: RunStatus,
  units: number,
  changes: Partial<Metered> = {},
  { privateTier = false, route = itemOf(metered.routes, 0), lockUnits = 0 }: Circumstances = {},
): Outcome {
  const { services } = new RunWorld()
  const principal = { ...testPrincipal(), privateTier }
  const exchange = new RecordedExchange()
  const run = {
    exchange,
    principal,
    metered: { ...metered, ...changes },
    services,
    phase: 'ending' as const,
    enter: () => assert.fail('an outcome does not decide how far its request is'),
  }
  const hold = new HoldLife(run, {} as HoldListener)
  hold.heldUnits = 100
  hold.lockUnits = lockUnits
  hold.heldAtMs = 5
  const errorCode = status === 'ok' ? null : 'client_gone'
  return new Outcome(run, hold, { route, firstByteMs: 9, tries: 2 }, { status, bill: billOf(units), errorCode })
}

const CHARGED: [status: RunStatus, bill: number, charge: number, clamped: boolean][] = [
  ['ok', 40, 40, false],
  ['ok', 100, 100, false],
  ['ok', 101, 100, true],
  ['partial', 0, 0, false],
  ['partial', 300, 100, true],
  ['failed', 40, -1, false],
  ['failed', 300, -1, false],
  ['cut', 40, -1, false],
]
for (const [status, bill, charge, clamped] of CHARGED) {
  test(`a bill of ${bill} with status ${status} charges ${charge} of a hold of 100`, () => {
    const outcome = outcomeOf(status, bill)
    assert.deepEqual([outcome.chargeUnits, outcome.clamped, outcome.isCharged], [charge, clamped, charge >= 0])
    const metrics = new RequestMetrics(limits)
    outcome.count(metrics, 1.5)
    const { counters } = metrics
    assert.deepEqual(
      [counters.ended[status], counters.clamped, counters.estimated, counters.chargedUnits],
      [1, Number(clamped), 1, Math.max(0, charge)],
    )
    const [series, ...others] = Object.values(metrics.models.counts)
    assert.deepEqual([series?.requests, series?.chargedUnits, others], [{ [status]: 1 }, Math.max(0, charge), []])
  })
}

test('the receipt and the settlement show the same', () => {
  const outcome = outcomeOf('partial', 300)
  const booked = sluice.Settlement.decode(settlementBytes(outcome.settlement))
  const receipt = JSON.parse(outcome.receipt(outcome.chargeUnits)) as Record<string, unknown>
  const cost = receipt['cost'] as { units: string }
  assert.deepEqual([booked.chargeUnits, cost.units], [100, '100'])
  assert.deepEqual([booked.durationMs, booked.errorCode], [receipt['duration_ms'], 'client_gone'])
  assert.deepEqual([booked.status, receipt['status']], [sluice.Status.PARTIAL, 'partial'])
  assert.deepEqual([booked.provider, booked.firstByteMs, booked.tries, booked.holdUnits], ['mock', 9, 2, 100])
  const { streamed, first_token_ms: firstTokenMs, tries } = receipt
  assert.deepEqual([firstTokenMs, tries], [streamed === true ? 9 : null, 2])
})

const PRICES: [changes: Partial<Metered>, privateTier: boolean, rate: number, tier: number][] = [
  [{}, false, sluice.Rate.STANDARD_RATE, sluice.Tier.STANDARD_TIER],
  [{}, true, sluice.Rate.STANDARD_RATE, sluice.Tier.PRIVATE_TIER],
  [{ tier: 'standard' }, true, sluice.Rate.STANDARD_RATE, sluice.Tier.STANDARD_TIER],
  [{ rate: 'batch' }, false, sluice.Rate.BATCH_RATE, sluice.Tier.STANDARD_TIER],
]
for (const [changes, privateTier, rate, tier] of PRICES) {
  test(`prices match ${JSON.stringify({ privateTier, ...changes })}`, () => {
    const outcome = outcomeOf('ok', 1, changes, { privateTier })
    const booked = sluice.Settlement.decode(settlementBytes(outcome.settlement))
    assert.deepEqual([booked.rate, booked.tier], [rate, tier])
  })
}

test('the receipt and the settlement of the private tier name the report of the route that answered', () => {
  // Of one provider, so that its id alone does not say which of them answered.
  const routes = metered.routes.map((route, index) => {
    const report = { id: `att_${index}`, validUntilMs: 1 }
    return { ...route, provider: { ...route.provider, report } }
  })
  assert.equal(new Set(routes.map(({ provider }) => provider.id)).size, 1)
  for (const [privateTier, expected] of [
    [true, 'att_1'],
    [false, ''],
  ] as const) {
    const outcome = outcomeOf('ok', 1, { routes }, { privateTier, route: itemOf(routes, 1) })
    assert.equal(sluice.Settlement.decode(settlementBytes(outcome.settlement)).attestation, expected)
    const receipt = JSON.parse(outcome.receipt(1)) as Record<string, unknown>
    assert.equal(receipt['attestation'] ?? '', expected)
  }
})

test('a request that called no provider has no provider on its receipt', () => {
  assert.deepEqual(NOBODY, { route: null, firstByteMs: 0, tries: 0 })
})

test('tokens of a lock that are more than the charge, or than were held, end the request without a charge', () => {
  const lockOf = (lockUnits: number, sheetUnits: number) => {
    const hold = { charge: () => ({ lockUnits, sheetUnits }), seriesId: 'lock_1', microUnits: 1 }
    return { lock: { hold, routes: [] } } as unknown as Partial<Metered>
  }
  assert.deepEqual(outcomeOf('ok', 40, lockOf(30, 10), { lockUnits: 30 }).burnt, {
    seriesId: 'lock_1',
    units: 30,
    micros: 30,
  })
  for (const changes of [lockOf(31, 0), lockOf(30, -20), lockOf(Number.NaN, 0)])
    assert.throws(() => outcomeOf('ok', 40, changes, { lockUnits: 30 }), { rule: 'charge_is_its_parts' })
})
