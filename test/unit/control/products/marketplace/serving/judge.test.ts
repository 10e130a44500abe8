import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { ProviderAdmission } from '../../../../../../control/products/marketplace/serving/admission.ts'
import { judge } from '../../../../../../control/products/marketplace/serving/judge.ts'
import type { Window } from '../../../../../../control/products/marketplace/serving/measures.ts'

const LIMITS = {
  providerRequestsMin: 20,
  providerProbesMin: 5,
  providerOverReportsMin: 3,
  providerOverReportPpmMax: 10_000,
  providerSuspensionsMax: 3,
  providerCoolDownMs: 1_000,
}
const NONE: Window = {
  requests: 0,
  errors: 0,
  stalls: 0,
  overReports: 0,
  timed: 0,
  slow: 0,
  compared: 0,
  different: 0,
  overReportedProbes: 0,
}
const NOW = 1_000_000

const admission = (changes: Partial<ProviderAdmission> = {}): ProviderAdmission => ({
  id: 'adm_1',
  providerId: 'prov_1',
  accountId: 'acct_1',
  model: 'm',
  upstreamModel: 'm',
  pay: { kind: 'share', ppm: 700_000 },
  canaryPpm: 10_000,
  fullPpm: 200_000,
  probationMs: 5_000,
  probationRequests: 100,
  errorPpmMax: 50_000,
  firstOutputMaxMs: 500,
  mismatchPpmMax: 200_000,
  state: 'probation',
  stateAtMs: NOW - 10_000,
  reason: '',
  suspensions: 0,
  resumesAtMs: null,
  admittedAtMs: NOW - 10_000,
  suspendedMs: 0,
  receipts: 0,
  earnedUnits: 0,
  earnedNanos: 0,
  ...changes,
})
const of = (changes: Partial<Window>, served = 0, found = admission()) =>
  judge(found, { ...NONE, ...changes }, served, NOW, LIMITS)

test('exceeding a threshold suspends, reaching it does not', () => {
  const cases: ReadonlyArray<[kept: Partial<Window>, exceeded: Partial<Window>, reason: string]> = [
    [{ requests: 100, errors: 3, stalls: 2 }, { requests: 100, errors: 3, stalls: 3 }, 'error_rate'],
    [{ timed: 100, slow: 5 }, { timed: 100, slow: 6 }, 'latency'],
    [{ requests: 300, overReports: 3 }, { requests: 299, overReports: 3 }, 'over_reports'],
    [{ compared: 10, different: 2 }, { compared: 10, different: 3 }, 'mismatch'],
    [{ compared: 10 }, { compared: 10, overReportedProbes: 1 }, 'over_reports'],
  ]
  for (const [kept, exceeded, reason] of cases) {
    assert.equal(of(kept), undefined, reason)
    const change = of(exceeded)
    assert.deepEqual([change?.to, change?.reason, change?.suspensions], ['suspended', reason, 1])
  }
})

test('too few requests lead to no decision', () => {
  assert.equal(of({ requests: 19, errors: 19 }), undefined)
  assert.equal(of({ timed: 19, slow: 19 }), undefined)
  assert.equal(of({ requests: 2, overReports: 2 }), undefined)
  assert.equal(of({ compared: 4, different: 4 }), undefined)
})

test('each suspension lasts twice as long as the one before, and the last one until the operator ends it', () => {
  const failing = { requests: 20, errors: 20 }
  const ends = [0, 1, 2].map((suspensions) => of(failing, 0, admission({ suspensions }))?.resumesAtMs)
  assert.deepEqual(ends, [NOW + 1_000, NOW + 2_000, null])
})

test('an expired suspension returns to probation, and keeps its number; one of the operator stays', () => {
  const over = of({}, 0, admission({ state: 'suspended', suspensions: 2, resumesAtMs: NOW }))
  assert.deepEqual([over?.to, over?.suspensions], ['probation', 2])
  assert.equal(of({}, 0, admission({ state: 'suspended', resumesAtMs: NOW + 1 })), undefined)
  assert.equal(of({}, 0, admission({ state: 'suspended', resumesAtMs: null })), undefined)
  assert.equal(of({ requests: 20, errors: 20 }, 0, admission({ state: 'removed' })), undefined)
})

test('probation ends after its time and its requests, not before', () => {
  assert.equal(of({}, 99), undefined)
  assert.equal(of({}, 100, admission({ stateAtMs: NOW - 4_999 })), undefined)
  assert.equal(of({}, 100)?.to, 'serving')
  assert.equal(of({}, 100, admission({ state: 'serving' })), undefined)
  assert.equal(of({ requests: 100, errors: 100 }, 100)?.to, 'suspended')
})
