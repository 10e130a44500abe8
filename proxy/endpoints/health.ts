import type { ChainHealth, PaymentState, WithdrawalState } from '../../contract/wire/chainHealth.ts'
import type { CatalogStore } from '../catalog/catalogStore.ts'
import { type Handler, JSON_TYPE } from '../server/exchange.ts'
import type { RouteHealth } from '../upstream/routeHealth.ts'
import { serves } from './models.ts'

/** The state of the parts that the process depends on, as it knows them without asking. */
export interface Vitals {
  readonly redis: boolean
  /** Control has answered, or published, within its time. */
  readonly control: boolean
  /** By control's last report. */
  readonly chain: ChainHealth
  /** By control's last report. */
  readonly withdrawals: WithdrawalState
  /** By control's last report. */
  readonly payments: PaymentState
  readonly draining: boolean
}

interface Report {
  readonly status: 'ok' | 'degraded' | 'draining'
  readonly database: 'ok' | 'unavailable'
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
    const { redis, draining } = vitals()
    const reasons = [
      ...(redis ? [] : ['redis']),
      ...(catalog.current === null ? ['catalog'] : []),
      ...(draining ? ['draining'] : []),
    ]
    exchange.answer(
      reasons.length === 0 ? 200 : 503,
      JSON_TYPE,
      JSON.stringify({ ready: reasons.length === 0, reasons }),
    )
  }
}

function report(catalog: CatalogStore, health: RouteHealth, vitals: Vitals): Report {
  const nowMs = Date.now()
  const models = [...(catalog.current?.models.values() ?? [])]
  const serving = models.filter((model) => serves(model, health, nowMs)).length
  const isChainWell = vitals.chain === 'ok' || vitals.chain === 'not_configured'
  const isPayingWell = isChainWell && vitals.payments !== 'unavailable'
  const well = vitals.redis && vitals.control && isPayingWell && serving > 0
  return {
    status: vitals.draining ? 'draining' : well ? 'ok' : 'degraded',
    database: vitals.control ? 'ok' : 'unavailable',
    ledger: vitals.redis ? 'ok' : 'unavailable',
    chain: vitals.chain,
    upstreams: { models: models.length, serving },
    withdrawals: vitals.withdrawals,
    payments: vitals.payments,
  }
}
