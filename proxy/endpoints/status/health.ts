import type { ChainHealth, PaymentState, WithdrawalState } from '../../../contract/wire/chainHealth.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import { hindrances, type Vitals } from '../../metrics/vitals.ts'
import { type Handler, JSON_TYPE } from '../../server/exchange.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import { serves } from '../models.ts'

interface Report {
  readonly status: 'ok' | 'degraded' | 'draining'
  readonly control: 'ok' | 'unavailable'
  /** By control's report; unknown while there is none. */
  readonly database: 'ok' | 'unavailable' | 'unknown'
  readonly ledger: 'ok' | 'unavailable'
  readonly chain: ChainHealth
  readonly upstreams: { readonly models: number; readonly serving: number }
  readonly withdrawals: WithdrawalState
  readonly payments: PaymentState
}

/** GET /health: always 200 while the process is alive, with the state of its dependencies. */
export function healthHandler(catalog: CatalogStore, health: RouteHealth, vitals: () => Vitals): Handler {
  return (exchange) => exchange.answer(200, JSON_TYPE, JSON.stringify(report(catalog, health, vitals())))
}

/** GET /ready: 200 when requests can be served, else 503. */
export function readyHandler(catalog: CatalogStore, vitals: () => Vitals): Handler {
  return (exchange) => {
    const reasons = [...hindrances(vitals()), ...(catalog.current === null ? ['catalog'] : [])]
    exchange.answer(
      reasons.length === 0 ? 200 : 503,
      JSON_TYPE,
      JSON.stringify({ ready: reasons.length === 0, reasons }),
    )
  }
}

function databaseState({ control, controlSilentMs }: Vitals): Report['database'] {
  if (control) return 'ok'
  return controlSilentMs > 0 ? 'unknown' : 'unavailable'
}

function report(catalog: CatalogStore, health: RouteHealth, vitals: Vitals): Report {
  const nowMs = Date.now()
  const models = [...(catalog.current?.models.values() ?? [])]
  const serving = models.filter((model) => serves(model, health, nowMs)).length
  const isChainWell = vitals.chain === 'ok' || vitals.chain === 'not_configured'
  const isPayingWell = isChainWell && vitals.payments !== 'unavailable'
  const well = vitals.redis && vitals.journal && vitals.control && isPayingWell && serving > 0
  return {
    status: vitals.draining ? 'draining' : well ? 'ok' : 'degraded',
    control: vitals.controlSilentMs === 0 ? 'ok' : 'unavailable',
    database: databaseState(vitals),
    ledger: vitals.redis && vitals.journal ? 'ok' : 'unavailable',
    chain: vitals.chain,
    upstreams: { models: models.length, serving },
    withdrawals: vitals.withdrawals,
    payments: vitals.payments,
  }
}
