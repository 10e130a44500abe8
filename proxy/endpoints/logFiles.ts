import { GatewayError } from '../../contract/errors/errors.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import type { Handler } from '../server/exchange.ts'

const PREFIX = '/v1/log/'
const PATH_LENGTH_MAX = 48
const KEPT = ['cache-control', 'public, max-age=31536000, immutable']
const NOT_KEPT = ['cache-control', 'no-cache']

/** GET /v1/log/*: files of the usage logs by which monitors follow them. */
export function logFileHandler(rpc: RpcClient): Handler {
  return async (exchange) => {
    const path = exchange.head.path.slice(PREFIX.length)
    if (path.length > PATH_LENGTH_MAX) throw new GatewayError('not_found')
    const { content, contentType, immutable } = await rpc.call('get_log_file', { path })
    exchange.answer(200, contentType, content, immutable ? KEPT : NOT_KEPT)
  }
}
