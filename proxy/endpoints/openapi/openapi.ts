import type { ContractLimits } from '../../../contract/limits/limits.ts'
import { type Handler, JSON_TYPE } from '../../server/exchange.ts'
import { openapiDocument, type ServedRoute } from './document.ts'

/** GET /v1/openapi.json: a description of all endpoints, for generators of clients. */
export function openapiHandler(served: readonly ServedRoute[], limits: ContractLimits): Handler {
  const body = JSON.stringify(openapiDocument(served, limits))
  return (exchange) => exchange.answer(200, JSON_TYPE, body)
}
