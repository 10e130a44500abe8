import { GatewayError } from '../../../contract/errors/errors.ts'
import { formatUsd } from '../../../contract/money/units.ts'
import type { CatalogStore } from '../../catalog/catalogStore.ts'
import type { Tool } from '../../catalog/tool.ts'
import { type Handler, JSON_TYPE } from '../../server/exchange.ts'
import { required } from '../models.ts'

const PREFIX = '/v1/tools/'

/** GET /v1/tools and GET /v1/tools/{id}: the priced tools, also those that are disabled. */
export function toolsHandler(catalog: CatalogStore): Handler {
  return (exchange) => {
    const { path } = exchange.head
    const { tools } = required(catalog)
    if (!path.startsWith(PREFIX)) {
      const data = [...tools.values()].map(entry)
      exchange.answer(200, JSON_TYPE, JSON.stringify({ object: 'list', data }))
      return
    }
    exchange.answer(200, JSON_TYPE, JSON.stringify(entry(toolOf(path, catalog))))
  }
}

/** The tool that a path names. @throws GatewayError tool_not_found */
export function toolOf(path: string, catalog: CatalogStore): Tool {
  const tool = required(catalog).tools.get(path.slice(PREFIX.length))
  if (tool === undefined) throw new GatewayError('tool_not_found')
  return tool
}

function entry({ id, name, description, price, unit, enabled, retained, inputSchema }: Tool) {
  return {
    id,
    object: 'tool',
    name,
    description,
    price:
      unit === 'result'
        ? { base: formatUsd(price.callUnits), result: formatUsd(price.resultUnits) }
        : { call: formatUsd(price.callUnits) },
    enabled,
    retention_required: retained,
    input_schema: inputSchema,
  }
}
