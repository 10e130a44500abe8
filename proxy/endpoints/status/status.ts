import {
  type Incident,
  incidentJson,
  type ServiceState,
  stateDuring,
  worstState,
} from '../../../contract/api/incidents.ts'
import { DAY_MS } from '../../../contract/api/time.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Vitals } from '../../metrics/vitals.ts'
import { type Handler, JSON_TYPE } from '../../server/exchange.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import { serves } from '../models.ts'
import type { IncidentStore } from './incidentStore.ts'
import type { StatusLimits } from './limits.ts'

export interface StatusParts {
  readonly catalog: CatalogStore
  readonly health: Pick<RouteHealth, 'isOpen'>
  readonly vitals: () => Vitals
  readonly incidents: IncidentStore
}

/**
 * GET /v1/status: the state of the service and of its parts as the proxy processes together see them, or the operator's incidents
 * where these are worse, with the open incidents. It is answered from memory, even while dependencies are down.
 */
export function statusHandler({ catalog, health, vitals, incidents }: StatusParts): Handler {
  return (exchange) => {
    const nowMs = Date.now()
    const open = incidents.all.filter((incident) => incident.closedAtMs === null)
    const components = componentsNow({ catalog, health, vitals }, open, nowMs)
    const models = modelsNow(catalog.current, health, open, nowMs)
    const said = open.filter(concernsAll).map(({ impact }) => stateDuring(impact))
    const { listed, serving, unavailable } = models
    exchange.answer(
      200,
      JSON_TYPE,
      JSON.stringify({
        object: 'status',
        status: worstState([...components.map(({ status }) => status), ...said]),
        components,
        models: { listed, serving, unavailable },
        incidents: open.map(incidentJson),
        updated_at: new Date(nowMs).toISOString(),
      }),
    )
  }
}

/**
 * The parts of the service as this process sees them now.
 * @param open incidents, which degrade the models that they name
 */
export function componentsNow(
  { catalog, health, vitals }: Omit<StatusParts, 'incidents'>,
  open: readonly Incident[],
  nowMs: number,
): { name: string; status: ServiceState }[] {
  const { redis, control, chain, payments, withdrawals } = vitals()
  const components: { name: string; status: ServiceState }[] = [
    { name: 'models', status: modelsNow(catalog.current, health, open, nowMs).status },
    // Nothing runs that cannot be held for.
    { name: 'ledger', status: redis ? 'operational' : 'major_outage' },
    // Model requests are served without it.
    { name: 'account_api', status: control ? 'operational' : 'degraded_performance' },
  ]
  // Requests with a key are served without the chain.
  if (payments !== 'not_configured') {
    const slower: ServiceState = chain === 'ok' ? 'operational' : 'degraded_performance'
    components.push({ name: 'payments', status: payments === 'open' ? slower : 'partial_outage' })
  }
  // None is taken then, and nothing else is concerned.
  if (withdrawals !== 'not_configured') {
    components.push({ name: 'withdrawals', status: withdrawals === 'open' ? 'operational' : 'partial_outage' })
  }
  return components
}

/**
 * GET /v1/status/history: the days of the last months on which the gateway ran, newest first, each with its incidents and
 * with the worst state that the gateway observed or the operator reported.
 */
export function statusHistoryHandler(
  incidents: IncidentStore,
  limits: Pick<StatusLimits, 'incidentDaysShown'>,
): Handler {
  let made: { readonly of: readonly Incident[]; readonly today: number; readonly text: string } | undefined
  return (exchange) => {
    const nowMs = Date.now()
    const today = Math.floor(nowMs / DAY_MS)
    if (made?.of !== incidents.all || made.today !== today) {
      made = { of: incidents.all, today, text: historyJson(incidents, today, limits.incidentDaysShown) }
    }
    exchange.answer(200, JSON_TYPE, made.text)
  }
}

/** An incident that names models makes the service a partial outage at worst. */
function concernsAll({ models }: Incident): boolean {
  return models.length === 0
}

/** Models that no provider is set up for are not offered, and so not missing. */
function modelsNow(catalog: Catalog | null, health: StatusParts['health'], open: readonly Incident[], nowMs: number) {
  const offered = [...(catalog?.models.values() ?? [])].filter(
    (model) => !model.unverified && model.routes.some((route) => route.offered),
  )
  const unavailable = offered.filter((model) => !serves(model, health, nowMs)).map((model) => model.id)
  const serving = offered.length - unavailable.length
  const said = open.filter((incident) => !concernsAll(incident)).map(({ impact }) => milder(stateDuring(impact)))
  const seen: ServiceState = serving === 0 ? 'major_outage' : unavailable.length > 0 ? 'partial_outage' : 'operational'
  return { listed: offered.length, serving, unavailable, status: worstState([seen, ...said]) }
}

/** An outage of some models is a partial outage of the service. */
function milder(state: ServiceState): ServiceState {
  return state === 'major_outage' ? 'partial_outage' : state
}

function historyJson(
  { all: incidents, days: seen }: Pick<IncidentStore, 'all' | 'days'>,
  today: number,
  days: number,
): string {
  const recent = [...seen.keys()].filter((day) => day < today && day > today - days).sort((a, b) => b - a)
  // This process runs today, whether or not it is in the book yet.
  const data = [today, ...recent].map((day) => {
    const startMs = day * DAY_MS
    const during = incidents.filter(
      ({ openedAtMs, closedAtMs }) => openedAtMs < startMs + DAY_MS && (closedAtMs ?? startMs) >= startMs,
    )
    const states = during.map((incident) => {
      const state = stateDuring(incident.impact)
      return concernsAll(incident) ? state : milder(state)
    })
    const date = new Date(startMs).toISOString().slice(0, 10)
    states.push(seen.get(day) ?? 'operational')
    return { date, status: worstState(states), incidents: during.map(({ id }) => id) }
  })
  return JSON.stringify({ object: 'status_history', days: data, incidents: incidents.map(incidentJson) })
}
