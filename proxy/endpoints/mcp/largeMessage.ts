import { INVALID_PARAMS, type JSONRPCRequest } from '@modelcontextprotocol/server'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { refusalOf } from '../../../contract/wire/refusal.ts'
import type { LargeMessage, LargeMessageFault } from '../largeBodies/largeTasks.ts'
import { chatBody } from './chatBody.ts'
import { checkToolInput } from './inputCheck.ts'
import type { McpLimits } from './limits.ts'
import { type RpcMessage, readMessage, requestOf } from './message.ts'
import { RpcError } from './protocol.ts'

/** For messages other than chats: payments in `_meta` have 16 KiB at most. */
const SMALL_CHARACTERS_MAX = 65_536
/** The tools whose arguments are a chat request. */
const CHAT_TOOLS: ReadonlySet<unknown> = new Set(['chat', 'quote'])

/** Reads a large message, so that its reader gets only small values. */
export function readLargeMessage(body: Buffer, limits: McpLimits): LargeMessage | LargeMessageFault {
  let id: string | undefined
  try {
    const message = readMessage(body, limits)
    id = message.id
    return messageOf(message)
  } catch (error) {
    if (!(error instanceof RpcError)) throw error
    const rpc = { code: error.code, message: error.message, status: error.status }
    const known = id ?? error.id
    return known === undefined ? { rpc } : { rpc, id: known }
  }
}

function messageOf(message: RpcMessage): LargeMessage {
  const { id } = message
  if (id === '') return { id, request: null }
  const request = requestOf(message)
  const params = (request.params ?? {}) as JsonObject
  const { name, arguments: given } = params
  if (request.method !== 'tools/call' || !CHAT_TOOLS.has(name) || !isJsonObject(given)) {
    checkSmall(params)
    return { id, request }
  }
  const small: JsonObject = { ...params, arguments: {} }
  checkSmall(small)
  const read = { id, request: { ...request, params: small } as JSONRPCRequest }
  try {
    checkToolInput(String(name), given)
    return { ...read, chat: chatBody(given) }
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    return { ...read, refusal: refusalOf(error) }
  }
}

/** @throws RpcError for params that are too large to be handed over */
function checkSmall(params: JsonObject): void {
  if (JSON.stringify(params).length <= SMALL_CHARACTERS_MAX) return
  throw new RpcError(INVALID_PARAMS, 'The message is too large; only the arguments of a chat may be.')
}
