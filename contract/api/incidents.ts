import type { sluice } from '../wire/generated/messages.js'

/** The impact of an incident, in the terms of status pages, mildest first. */
export const IMPACTS = ['maintenance', 'minor', 'major', 'critical'] as const
export type Impact = (typeof IMPACTS)[number]

/** The states of the service and of its parts, the best first. */
export const SERVICE_STATES = [
  'operational',
  'under_maintenance',
  'degraded_performance',
  'partial_outage',
  'major_outage',
] as const
export type ServiceState = (typeof SERVICE_STATES)[number]

const STATE_OF: Readonly<Record<Impact, ServiceState>> = {
  maintenance: 'under_maintenance',
  minor: 'degraded_performance',
  major: 'partial_outage',
  critical: 'major_outage',
}

/** Times are milliseconds since 1970. */
export interface Incident {
  readonly id: string
  readonly title: string
  readonly impact: Impact
  /** The models that it is about; none for the whole service. */
  readonly models: readonly string[]
  readonly note: string
  readonly openedAtMs: number
  /** Null while it is open. */
  readonly closedAtMs: number | null
  readonly resolution: string
}

/** The state of the service while an incident of this impact is open. */
export function stateDuring(impact: Impact): ServiceState {
  return STATE_OF[impact]
}

/** A state of a record; one that a later version knows counts as degraded. */
export function serviceStateOf(text: string): ServiceState {
  return SERVICE_STATES.find((state) => state === text) ?? 'degraded_performance'
}

/** The worst of some states; operational when there are none. */
export function worstState(states: Iterable<ServiceState>): ServiceState {
  let worst = 0
  for (const state of states) worst = Math.max(worst, SERVICE_STATES.indexOf(state))
  return SERVICE_STATES[worst] ?? 'operational'
}

/** An incident of a record; an impact that a later version knows counts as a minor one. */
export function incidentOf(record: sluice.IncidentRecord): Incident {
  return {
    id: record.id,
    title: record.title,
    impact: IMPACTS.find((impact) => impact === record.impact) ?? 'minor',
    models: record.models,
    note: record.note,
    openedAtMs: record.openedAtMs,
    closedAtMs: record.closedAtMs ?? null,
    resolution: record.resolution,
  }
}

/** An incident as it is shown, by the API and by the command line. */
export function incidentJson(incident: Incident) {
  const { id, title, impact, models, note, openedAtMs, closedAtMs, resolution } = incident
  return {
    object: 'incident' as const,
    id,
    title,
    impact,
    status: closedAtMs === null ? ('open' as const) : ('closed' as const),
    models,
    note: note || null,
    resolution: resolution || null,
    opened_at: new Date(openedAtMs).toISOString(),
    closed_at: closedAtMs === null ? null : new Date(closedAtMs).toISOString(),
  }
}
