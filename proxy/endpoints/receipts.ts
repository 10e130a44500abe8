import { GatewayError } from '../../contract/errors/errors.ts'
import { sluice } from '../../contract/wire/generated/messages.js'
import { isId } from '../../contract/wire/ids.ts'
import { readApiKey } from '../access/credential.ts'
import type { KeyCache } from '../access/keyCache.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import { type Handler, JSON_TYPE } from '../server/exchange.ts'
import { callControl } from './callControl.ts'
import { checkKey } from './run/checkKey.ts'

/** GET /v1/receipts/{id}: one receipt of the key's own, with its place in the usage log. */
export function receiptHandler(keys: KeyCache, rpc: RpcClient): Handler {
  return async (exchange) => {
    const principal = await keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    checkKey(principal, exchange.startedAtMs)
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
