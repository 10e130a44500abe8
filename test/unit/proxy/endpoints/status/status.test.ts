import assert from 'node:assert/strict'
import { test } from 'node:test'
import {
  type Incident,
  incidentOf,
  SERVICE_STATES,
  type ServiceState,
  worstState,
} from '../../../../../contract/api/incidents.ts'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { encodeStatus } from '../../../../../control/catalog/status/statusRecord.ts'
import type { IncidentStore } from '../../../../../proxy/endpoints/status/incidentStore.ts'
import { SeenState } from '../../../../../proxy/endpoints/status/seenState.ts'
import { statusHistoryHandler } from '../../../../../proxy/endpoints/status/status.ts'
import type { Exchange } from '../../../../../proxy/server/exchange.ts'

const DAY_MS = 86_400_000
const incident = (id: string, changes: Partial<Incident>): Incident => ({
  id,
  title: id,
  impact: 'minor',
  models: [],
  note: '',
  openedAtMs: 0,
  closedAtMs: null,
  resolution: '',
  ...changes,
})

interface History {
  readonly days: { date: string; status: string; incidents: string[] }[]
}

async function historyOf(
  all: readonly Incident[],
  seen: ReadonlyMap<number, ServiceState>,
  days: number,
): Promise<History> {
  let text = ''
  const exchange = {
    answer: (_status: number, _type: string, body: string) => {
      text = body
    },
  }
  await statusHistoryHandler({ all, days: seen } as IncidentStore, { incidentDaysShown: days })(
    exchange as unknown as Exchange,
    Buffer.alloc(0),
  )
  return JSON.parse(text) as History
}

test('a day has the worst status that occurred in it, and an incident is in every day that it lasted', async (t) => {
  const now = Date.UTC(2026, 10, 21, 15)
  t.mock.timers.enable({ apis: ['Date'], now })
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const day = today / DAY_MS
  const seen = new Map<number, ServiceState>([
    [day - 1, 'operational'],
    [day - 2, 'degraded_performance'],
    [day - 3, 'operational'],
    [day - 4, 'partial_outage'],
    [day - 5, 'major_outage'],
  ])
  const { days } = await historyOf(
    [
      incident('inc_open', { impact: 'maintenance', openedAtMs: now - 3_600_000 }),
      // From the last moment of one day to the first of the next but one.
      incident('inc_long', { impact: 'critical', openedAtMs: today - 2 * DAY_MS - 1, closedAtMs: today - DAY_MS }),
      incident('inc_part', { impact: 'critical', models: ['m'], openedAtMs: today - DAY_MS, closedAtMs: today - 1 }),
      incident('inc_early', { openedAtMs: 0, closedAtMs: today - 4 * DAY_MS - 1 }),
    ],
    seen,
    5,
  )
  assert.deepEqual(days, [
    { date: '2026-11-21', status: 'under_maintenance', incidents: ['inc_open'] },
    { date: '2026-11-20', status: 'major_outage', incidents: ['inc_long', 'inc_part'] },
    { date: '2026-11-19', status: 'major_outage', incidents: ['inc_long'] },
    { date: '2026-11-18', status: 'major_outage', incidents: ['inc_long'] },
    { date: '2026-11-17', status: 'partial_outage', incidents: [] },
  ])
})

test('days without a running gateway are not shown; today is, before the book has data of it', async (t) => {
  const now = Date.UTC(2026, 10, 21, 15)
  t.mock.timers.enable({ apis: ['Date'], now })
  const datesOf = async (...seen: [number, ServiceState][]) =>
    (await historyOf([incident('inc_old', { closedAtMs: now })], new Map(seen), 90)).days.map(({ date }) => date)
  assert.deepEqual(await datesOf(), ['2026-11-21'])
  const day = Math.floor(now / DAY_MS)
  const some = await datesOf([day, 'operational'], [day - 7, 'major_outage'], [day - 90, 'operational'])
  assert.deepEqual(some, ['2026-11-21', '2026-11-14'])
})

/** A process that sees the service through a minute of calls, ten seconds apart. */
function watched(states: readonly ServiceState[], perCall: (i: number) => { requests: number; faults: number }) {
  const counters = { requests: 0, errors: {} as Record<string, number> }
  let state: ServiceState = 'operational'
  let nowMs = Date.UTC(2026, 10, 21, 23, 59, 30)
  const limits = { statusRequestsMin: 20, pulseIntervalMs: 5_000, rpcTimeoutMs: 5_000 }
  const seen = new SeenState({ partsNow: () => state, counters, limits, now: () => nowMs })
  states.forEach((next, i) => {
    state = next
    const { requests, faults } = perCall(i)
    counters.requests += requests
    counters.errors = {
      upstream_unavailable: (counters.errors['upstream_unavailable'] ?? 0) + faults,
      rate_limited: 99,
    }
    seen.observe()
    nowMs += 10_000
  })
  return seen
}
const quiet = () => ({ requests: 0, faults: 0 })
const total = (seen: SeenState) => seen.take().map(({ day, state, ms }) => [day - 20_778, state, ms])

test('a process sums its observed status by day, from its first operational moment on', () => {
  const good = 'operational'
  const out = 'major_outage'
  assert.deepEqual(total(watched([out, out, out], quiet)), [], 'it has never come up')
  const seen = watched([out, good, good, out, out, good], quiet)
  assert.deepEqual(total(seen), [
    [0, good, 10_000],
    [1, good, 10_000],
    [1, out, 20_000],
  ])
  assert.deepEqual(seen.take(), [], 'what was told is not told again')
  const entry = { day: 20_778, state: out, ms: 5 } as const
  seen.keep([entry])
  assert.deepEqual(seen.take(), [entry], 'but for what could not be told')
})

test('an outage shorter than a pulse counts for its length, and is not missed', () => {
  let state: ServiceState = 'operational'
  let nowMs = Date.UTC(2026, 10, 21, 12)
  const seen = new SeenState({
    partsNow: () => state,
    counters: { requests: 0, errors: {} },
    limits: { statusRequestsMin: 20, pulseIntervalMs: 5_000, rpcTimeoutMs: 5_000 },
    now: () => nowMs,
  })
  const becomes = (next: ServiceState, afterMs: number): void => {
    nowMs += afterMs
    state = next
    seen.observe()
  }
  becomes('operational', 0)
  becomes('major_outage', 1_200)
  becomes('operational', 300)
  becomes('operational', 3_500)
  const byState = Object.fromEntries(seen.take().map((entry) => [entry.state, entry.ms]))
  assert.deepEqual(byState, { operational: 4_700, major_outage: 300 })
})

test('server errors above a share of requests are a disturbance, and too few requests are not judged', () => {
  const states = (requests: number, faults: number) =>
    new Set(
      watched(Array(4).fill('operational'), (i) => (i === 0 ? quiet() : { requests, faults }))
        .take()
        .map(({ state }) => state),
    )
  assert.ok(states(100, 50).has('partial_outage'))
  assert.ok(states(100, 5).has('degraded_performance'))
  assert.deepEqual([...states(100, 4)], ['operational'])
  assert.deepEqual([...states(5, 5)], ['operational'])
  assert.ok(states(10, 10).has('partial_outage'), 'they are judged once there are enough')
})

test('incidents reach the proxies and return unchanged; an unknown impact counts as minor', () => {
  const all = [
    incident('inc_1', { models: ['a', 'b'], note: 'n', openedAtMs: 1_795_000_000_000 }),
    incident('inc_2', { impact: 'critical', openedAtMs: 5, closedAtMs: 9, resolution: 'r' }),
  ]
  const { incidents } = sluice.StatusRecord.decode(encodeStatus(all, []))
  const read = incidents.map((record) => incidentOf(sluice.IncidentRecord.create(record)))
  assert.deepEqual(read, all)
  assert.equal(incidentOf(sluice.IncidentRecord.create({ id: 'inc_3', impact: 'other' })).impact, 'minor')
})

test('the worst state counts', () => {
  assert.equal(worstState([]), 'operational')
  for (const [i, state] of SERVICE_STATES.entries()) assert.equal(worstState(SERVICE_STATES.slice(0, i + 1)), state)
})
