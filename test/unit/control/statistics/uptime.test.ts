// Goal: the uptime is counted as the history of the status shows the days.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { Incident, ServiceState } from '../../../../contract/api/incidents.ts'
import { DAY_MS } from '../../../../contract/api/time.ts'
import { uptimeOf } from '../../../../control/statistics/uptime.ts'

const incident = (openedAtMs: number, closedAtMs: number | null): Incident => ({
  id: 'inc',
  title: 'Slow',
  impact: 'minor',
  models: ['a/model'],
  note: '',
  openedAtMs,
  closedAtMs,
  resolution: '',
})

test('a day counts if neither the gateway nor the operator recorded a disturbance; today does not count', () => {
  const state = (day: number): ServiceState => (day === 12 ? 'degraded_performance' : 'operational')
  const seen = [16, 15, 14, 13, 12, 10].map((day) => ({ day, state: state(day) }))
  assert.deepEqual(uptimeOf(seen, [], 16), { days: 5, operational: 4 })
  const night = incident(14 * DAY_MS - 1, 14 * DAY_MS)
  assert.deepEqual(uptimeOf(seen, [night], 16), { days: 5, operational: 2 })
  assert.deepEqual(uptimeOf(seen, [incident(15 * DAY_MS, null)], 16), { days: 5, operational: 3 })
  assert.deepEqual(uptimeOf([], [], 16), { days: 0, operational: 0 })
})
