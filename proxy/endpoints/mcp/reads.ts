import type { CallToolResult } from '@modelcontextprotocol/server'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { parseJsonObject } from '../../../contract/std/jsonObject.ts'
import { isId } from '../../../contract/wire/ids.ts'
import { required, serves } from '../models.ts'
import { callerOf, type McpCall, type McpParts } from './parts.ts'
import { structured } from './results.ts'
import { sheetDocument } from './sheetDocument.ts'

/** The tool `list_models`: the models that serve now, and that the caller's key may use, with their prices. */
export async function listModelsTool(call: McpCall, parts: McpParts): Promise<CallToolResult> {
  const { catalog, services, keys } = parts
  const { modality } = call.input
  const allowed = call.credential.hasKey ? (await callerOf(call, keys)).models : null
  const { sheet, models } = required(catalog)
  const nowMs = Date.now()
  const document = sheetDocument(sheet)
  const listed = [...document.models].filter(([id]) => {
    const model = models.get(id)
    if (model === undefined || !serves(model, services.health, nowMs)) return false
    return (typeof modality !== 'string' || model.modality === modality) && (allowed === null || allowed.has(id))
  })
  return structured({
    price_sheet: document.version,
    rate_lock: document.rateLock,
    models: listed.map(([, { routes: _routes, available: _available, ...entry }]) => entry),
  })
}

/** The tool `balance`, for the account or the agent of a key, but not for a sub-key. */
export async function balanceTool(call: McpCall, { keys, rpc }: McpParts): Promise<CallToolResult> {
  const { accountId, platform } = await callerOf(call, keys)
  if (platform !== null) {
    throw new GatewayError('permission_denied', { message: 'The sub-key of a platform cannot read its balance.' })
  }
  const balance = parseJsonObject(await rpc.call('get_balance', { accountId }))
  return structured({ object: 'balance', ...balance })
}

/** The tool `receipt`: of the caller's own requests with a key, else the public receipt. */
export async function receiptTool(call: McpCall, { keys, rpc }: McpParts): Promise<CallToolResult> {
  const { id } = call.input
  const keyId = call.credential.hasKey ? (await callerOf(call, keys)).keyId : ''
  if (typeof id !== 'string' || !isId('req', id)) throw new GatewayError('receipt_not_found')
  return structured(parseJsonObject(await rpc.call('get_receipt', { requestId: id, keyId })) ?? {})
}
