import { type Incident, type ServiceState, stateDuring, worstState } from '../../contract/api/incidents.ts'
import { DAY_MS } from '../../contract/api/time.ts'
import type { DayState } from '../catalog/status/observedDays.ts'

/** How many days the service ran, and on how many of them nothing was wrong. */
export interface Uptime {
  readonly days: number
  readonly operational: number
}

/**
 * Counts the days before today as GET /v1/status/history shows them: each has the worst of the states that the gateway
 * observed and of those that the operator reported.
 */
export function uptimeOf(seen: readonly DayState[], incidents: readonly Incident[], today: number): Uptime {
  const days = seen.filter(({ day }) => day < today)
  const operational = days.filter(({ day, state }) => isOperational(day, state, incidents))
  return { days: days.length, operational: operational.length }
}

function isOperational(day: number, seen: ServiceState, incidents: readonly Incident[]): boolean {
  const startMs = day * DAY_MS
  const said = incidents
    .filter((each) => each.openedAtMs < startMs + DAY_MS && (each.closedAtMs ?? startMs) >= startMs)
    .map(({ impact }) => stateDuring(impact))
  return worstState([seen, ...said]) === 'operational'
}
