import { GatewayError, invalidRequest } from '../../control/contract/errors.ts'
import { sluice } from '../../control/contract/generated/messages.js'
import { isId } from '../../control/contract/ids.ts'
import type { Limits } from '../../control/contract/limits.ts'
import { readApiKey } from '../access/credential.ts'
import type { KeyCache } from '../access/keyCache.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import type { Handler } from '../server/exchange.ts'
import { callControl } from './callControl.ts'

const JSON_TYPE = 'application/json; charset=utf-8'
const LIST_DEFAULT = 20

/** GET /v1/receipts: the key's latest receipts, newest first; `limit` and `after` page through them. */
export function receiptsHandler(keys: KeyCache, rpc: RpcClient, limits: Limits): Handler {
  return async (exchange) => {
    const principal = await keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    const query = new URLSearchParams(exchange.head.query)
    const after = query.get('after') ?? ''
    if (after !== '' && !isId('req', after)) throw invalidRequest('after must be a request id.', 'after')
    const request = sluice.ListReceiptsRequest.encode({
      accountId: principal.accountId,
      keyId: principal.keyId,
      limit: readLimit(query.get('limit'), limits.receiptsPageMax),
      after,
    })
    exchange.answer(200, JSON_TYPE, await callControl(rpc, 'list_receipts', request.finish()))
  }
}

/** GET /v1/receipts/{id}: one receipt of the key's own, with its place in the usage log. */
export function receiptHandler(keys: KeyCache, rpc: RpcClient): Handler {
  return async (exchange) => {
    const principal = await keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    const requestId = lastSegment(exchange.head.path)
    const request = sluice.GetReceiptRequest.encode({ requestId, keyId: principal.keyId }).finish()
    exchange.answer(200, JSON_TYPE, await callControl(rpc, 'get_receipt', request))
  }
}

/** GET /x402/v1/receipts/{id}: the public receipt of any request. */
export function publicReceiptHandler(rpc: RpcClient): Handler {
  return async (exchange) => {
    const request = sluice.GetReceiptRequest.encode({ requestId: lastSegment(exchange.head.path), keyId: '' }).finish()
    exchange.answer(200, JSON_TYPE, await callControl(rpc, 'get_receipt', request))
  }
}

function lastSegment(path: string): string {
  const requestId = path.slice(path.lastIndexOf('/') + 1)
  if (!isId('req', requestId)) throw new GatewayError('receipt_not_found')
  return requestId
}

function readLimit(text: string | null, max: number): number {
  if (text === null) return LIST_DEFAULT
  const limit = Number(text)
  if (!/^[0-9]{1,4}$/.test(text) || limit < 1 || limit > max) {
    throw invalidRequest(`limit must be an integer from 1 to ${max}.`, 'limit')
  }
  return limit
}
