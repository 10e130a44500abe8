import type { Limits } from '../control/contract/limits.ts'
import type { KeyCache } from './access/keyCache.ts'
import type { RpcClient } from './bus/rpcClient.ts'
import type { CatalogStore } from './catalog/catalogStore.ts'
import { apiEndpoints } from './endpoints/api.ts'
import { chatHandler, chatOperation, credentialPrecheck } from './endpoints/chat/chat.ts'
import type { ChatSurface } from './endpoints/chat/codec.ts'
import { chatSurface } from './endpoints/chat/surface.ts'
import { healthHandler, readyHandler, type Vitals } from './endpoints/health.ts'
import { limitsHandler } from './endpoints/limits.ts'
import { modelsHandler } from './endpoints/models.ts'
import { type Operation, paidHandler } from './endpoints/paid.ts'
import { pricingHandler, sheetHandler, sheetsHandler } from './endpoints/pricing.ts'
import { publicReceiptHandler, receiptHandler } from './endpoints/receipts.ts'
import type { RunServices } from './endpoints/run/services.ts'
import type { PaymentServices } from './payments/paidRequest.ts'
import type { RouteEntry } from './server/routeTable.ts'
import type { RouteHealth } from './upstream/routeHealth.ts'

/** What the endpoints of a process are made of. */
export interface RouteParts {
  readonly keys: KeyCache
  readonly catalog: CatalogStore
  readonly services: RunServices
  readonly health: RouteHealth
  readonly rpc: RpcClient
  readonly limits: Limits
  readonly vitals: () => Vitals
  readonly payments: PaymentServices
  /** How many load balancers stand before the gateway, for the addresses of clients. */
  readonly trustedProxies: number
}

/** Every path that is served, a row each. */
export function routes(parts: RouteParts): RouteEntry[] {
  const { keys, catalog, services, health, rpc, limits, vitals, payments, trustedProxies } = parts
  const chat = (path: string, surface: ChatSurface): RouteEntry => ({
    method: 'POST',
    path,
    handler: chatHandler(surface, keys, catalog, services),
    precheck: credentialPrecheck,
  })
  const paid = (path: string, operation: Operation): RouteEntry => ({
    method: 'POST',
    path: `/x402${path}`,
    handler: paidHandler(operation, payments, services),
  })
  return [
    chat('/v1/chat/completions', chatSurface),
    paid('/v1/chat/completions', chatOperation(chatSurface, catalog)),
    { method: 'GET', path: '/v1/models', handler: modelsHandler(catalog, health) },
    { method: 'GET', path: '/v1/models/*', handler: modelsHandler(catalog, health) },
    { method: 'GET', path: '/v1/pricing', handler: pricingHandler(catalog, health) },
    { method: 'GET', path: '/v1/pricing/sheets', handler: sheetsHandler(rpc) },
    { method: 'GET', path: '/v1/pricing/sheets/*', handler: sheetHandler(rpc) },
    { method: 'GET', path: '/v1/limits', handler: limitsHandler(limits) },
    { method: 'GET', path: '/v1/receipts/*', handler: receiptHandler(keys, rpc) },
    { method: 'GET', path: '/x402/v1/receipts/*', handler: publicReceiptHandler(rpc) },
    { method: 'GET', path: '/health', handler: healthHandler(catalog, health, vitals) },
    { method: 'GET', path: '/ready', handler: readyHandler(catalog, vitals) },
    ...apiEndpoints({ rpc, limits, trustedProxies }),
  ]
}
