import { GatewayError } from '../../contract/errors/errors.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import type { CatalogStore } from '../catalog/catalogStore.ts'
import { type Handler, JSON_TYPE } from '../server/exchange.ts'
import type { RouteHealth } from '../upstream/routeHealth.ts'
import { required, serves } from './models.ts'

const PREFIX = '/v1/pricing/sheets/'
const VERSION = /^[1-9][0-9]{0,8}$/

interface SheetModel {
  readonly id: string
  available: boolean
  readonly routes: { enabled: boolean }[]
}

/** GET /v1/pricing: the price sheet in force, and which of its models can be served now. */
export function pricingHandler(catalog: CatalogStore, health: RouteHealth): Handler {
  return (exchange) => {
    const { sheet, models } = required(catalog)
    const nowMs = Date.now()
    const document = JSON.parse(sheet.json.toString('utf8')) as { models: SheetModel[] }
    for (const entry of document.models) {
      const model = models.get(entry.id)
      entry.available = model !== undefined && serves(model, health, nowMs)
      // Both are written from one catalog, in its order.
      for (const [place, route] of entry.routes.entries()) if (model?.routes[place]?.switchedOff) route.enabled = false
    }
    exchange.answer(200, JSON_TYPE, JSON.stringify(document))
  }
}

/** GET /v1/pricing/sheets: every price sheet ever served. */
export function sheetsHandler(rpc: RpcClient): Handler {
  return async (exchange) => {
    exchange.answer(200, JSON_TYPE, await rpc.call('list_sheets', {}))
  }
}

/** GET /v1/pricing/sheets/{version}: one of them, as it was published. */
export function sheetHandler(rpc: RpcClient): Handler {
  return async (exchange) => {
    const version = exchange.head.path.slice(PREFIX.length)
    if (!VERSION.test(version)) throw new GatewayError('sheet_not_found')
    exchange.answer(200, JSON_TYPE, await rpc.call('get_sheet', { version: Number(version) }))
  }
}
