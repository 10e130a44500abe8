import { INVALID_PARAMS, INVALID_REQUEST, type JSONRPCRequest, PARSE_ERROR } from '@modelcontextprotocol/server'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { objectSpans, spanBytes } from '../../json/jsonSpans.ts'
import type { McpLimits } from './limits.ts'
import { RpcError } from './protocol.ts'

/** A message of a client. */
export interface RpcMessage {
  /** As JSON, exactly as it was sent; '' for a notification or a response. */
  readonly id: string
  readonly method: string
  readonly parsed: JsonObject
}

/**
 * The request that a message is, as the library takes it: with an id of the gateway's own, because numbers lose digits
 * when they are parsed, and with `_meta` in its parameters, where some clients have it next to them.
 * @throws RpcError
 */
export function requestOf({ method, parsed }: RpcMessage): JSONRPCRequest {
  const params = parsed['params'] ?? {}
  if (!isJsonObject(params)) throw new RpcError(INVALID_PARAMS, 'params must be an object.')
  const { arguments: given, ...others } = params
  const meta = params['_meta'] ?? parsed['_meta'] ?? {}
  if (!isJsonObject(meta)) throw new RpcError(INVALID_PARAMS, '_meta must be an object.')
  return { jsonrpc: '2.0', id: 0, method, params: { ...(given === null ? others : params), _meta: meta } }
}

/**
 * Reads the one message of a request's body.
 * @throws RpcError with status 400 for an invalid message; batches, which only one past revision has, are rejected
 */
export function readMessage(body: Buffer, { jsonDepthMax }: McpLimits): RpcMessage {
  const parsed = parse(body)
  if (Array.isArray(parsed)) throw invalid('Batches are not served; send one message a request.')
  const spans = objectSpans(body, jsonDepthMax)
  if (!isJsonObject(parsed) || spans === null) throw invalid('Send one JSON-RPC 2.0 message, an object.')
  const { id, method } = parsed
  const idSpan = spans.get('id')
  if (id !== undefined && !isRequestId(id)) throw invalid('id must be a string or a whole number.')
  const idText = id === undefined || idSpan === undefined ? '' : spanBytes(body, idSpan).toString('utf8')
  if (parsed['jsonrpc'] !== '2.0') throw invalid('jsonrpc must be "2.0".', idText)
  if (method === undefined && ('result' in parsed || 'error' in parsed)) {
    return { id: '', method: '', parsed }
  }
  if (typeof method !== 'string') throw invalid('method must be a string.', idText)
  return { id: idText, method, parsed }
}

function isRequestId(value: unknown): boolean {
  return typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))
}

function parse(body: Buffer): unknown {
  try {
    return JSON.parse(body.toString('utf8'))
  } catch {
    throw new RpcError(PARSE_ERROR, 'The body is not valid JSON.', { status: 400 })
  }
}

function invalid(message: string, id = ''): RpcError {
  return new RpcError(INVALID_REQUEST, message, { status: 400, ...(id !== '' && { id }) })
}
