import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../control/contract/generated/messages.js'
import { type Incident, incidentOf, SERVICE_STATES, worstState } from '../../control/contract/incidents.ts'
import { encodeStatus } from '../../control/status/statusRecord.ts'
import { statusHistoryHandler } from '../../proxy/endpoints/status.ts'
import type { Exchange } from '../../proxy/server/exchange.ts'
import type { IncidentStore } from '../../proxy/status/incidentStore.ts'

const DAY_MS = 86_400_000
const incident = (id: string, changes: Partial<Incident>): Incident => ({
  ...{ id, title: id, impact: 'minor', models: [], note: '', openedAtMs: 0, closedAtMs: null, resolution: '' },
  ...changes,
})

interface History {
  days: { date: string; status: string; incidents: string[] }[]
}

async function historyOf(all: readonly Incident[], days: number): Promise<History> {
  let text = ''
  const exchange = {
    answer: (_status: number, _type: string, body: string) => {
      text = body
    },
  }
  await statusHistoryHandler({ all } as IncidentStore, { incidentDaysShown: days })(
    exchange as unknown as Exchange,
    Buffer.alloc(0),
  )
  return JSON.parse(text) as History
}

test('a day has the worst of what was wrong in it, and an incident is in every day that it lasted', async (t) => {
  const now = Date.UTC(2026, 10, 21, 15)
  t.mock.timers.enable({ apis: ['Date'], now })
  const today = Math.floor(now / DAY_MS) * DAY_MS
  const { days } = await historyOf(
    [
      incident('inc_open', { impact: 'maintenance', openedAtMs: now - 3_600_000 }),
      // From the last moment of one day to the first of the next but one.
      incident('inc_long', { impact: 'critical', openedAtMs: today - 2 * DAY_MS - 1, closedAtMs: today - DAY_MS }),
      incident('inc_part', { impact: 'critical', models: ['m'], openedAtMs: today - DAY_MS, closedAtMs: today - 1 }),
      incident('inc_early', { openedAtMs: 0, closedAtMs: today - 4 * DAY_MS - 1 }),
    ],
    5,
  )
  assert.deepEqual(days, [
    { date: '2026-11-21', status: 'under_maintenance', incidents: ['inc_open'] },
    { date: '2026-11-20', status: 'major_outage', incidents: ['inc_long', 'inc_part'] },
    { date: '2026-11-19', status: 'major_outage', incidents: ['inc_long'] },
    { date: '2026-11-18', status: 'major_outage', incidents: ['inc_long'] },
    { date: '2026-11-17', status: 'operational', incidents: [] },
  ])
})

test('incidents go to the proxies and come back as they were; what they do not know is mild', () => {
  const all = [
    incident('inc_1', { models: ['a', 'b'], note: 'n', openedAtMs: 1_795_000_000_000 }),
    incident('inc_2', { impact: 'critical', openedAtMs: 5, closedAtMs: 9, resolution: 'r' }),
  ]
  const { incidents } = sluice.StatusRecord.decode(encodeStatus(all))
  const read = incidents.map((record) => incidentOf(sluice.IncidentRecord.create(record)))
  assert.deepEqual(read, all)
  assert.equal(incidentOf(sluice.IncidentRecord.create({ id: 'inc_3', impact: 'other' })).impact, 'minor')
})

test('the worst state counts', () => {
  assert.equal(worstState([]), 'operational')
  for (const [i, state] of SERVICE_STATES.entries()) assert.equal(worstState(SERVICE_STATES.slice(0, i + 1)), state)
})
