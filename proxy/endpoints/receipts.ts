import { GatewayError } from '../../contract/errors/errors.ts'
import { isId } from '../../contract/wire/ids.ts'
import { readApiKey } from '../access/credential.ts'
import type { KeyCache } from '../access/keyCache.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import { type Handler, JSON_TYPE } from '../server/exchange.ts'
import { checkKey } from './run/checkKey.ts'

const OWN = '/v1/receipts/'
const PUBLIC = `/x402${OWN}`

/** GET /v1/receipts/{id}: one receipt of the key's own, with its place in the usage log. */
export function receiptHandler(keys: KeyCache, rpc: RpcClient): Handler {
  return async (exchange) => {
    const principal = await keys.find(readApiKey(exchange.head), exchange.startedAtMs)
    checkKey(principal, exchange.startedAtMs)
    const requestId = idBelow(OWN, exchange.head.path)
    exchange.answer(200, JSON_TYPE, await rpc.call('get_receipt', { requestId, keyId: principal.keyId }))
  }
}

/** GET /x402/v1/receipts/{id}: the public receipt of any request. */
export function publicReceiptHandler(rpc: RpcClient): Handler {
  return async (exchange) => {
    const requestId = idBelow(PUBLIC, exchange.head.path)
    exchange.answer(200, JSON_TYPE, await rpc.call('get_receipt', { requestId, keyId: '' }))
  }
}

function idBelow(prefix: string, path: string): string {
  const requestId = path.slice(prefix.length)
  if (!isId('req', requestId)) throw new GatewayError('receipt_not_found')
  return requestId
}
