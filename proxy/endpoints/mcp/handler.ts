import {
  type CallToolResult,
  INVALID_PARAMS,
  isSpecType,
  type JSONRPCRequest,
  PARSE_ERROR,
} from '@modelcontextprotocol/server'
import { GatewayError } from '../../../contract/errors/errors.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import { errorOf } from '../../../contract/wire/refusal.ts'
import { type Exchange, type Handler, JSON_TYPE, type RequestHead } from '../../server/exchange.ts'
import type { LargeBody } from '../largeBodies/largeBodies.ts'
import { CHAT_PATH, chatTool } from './chat.ts'
import { readCallCredential } from './credential.ts'
import { checkToolInput } from './inputCheck.ts'
import { readMessage, requestOf } from './message.ts'
import type { McpCall, McpParts } from './parts.ts'
import { errorText, HTTP_FAULT, RpcError } from './protocol.ts'
import { quoteTool } from './quote.ts'
import { balanceTool, listModelsTool, receiptTool } from './reads.ts'
import { errorResult } from './results.ts'
import { checkVersionHeader, revisionOf } from './revision.ts'
import { mcpServer } from './server.ts'
import { isOwnSite } from './site.ts'
import { ExchangeTransport } from './transport.ts'

type ToolCall = (call: McpCall) => Promise<CallToolResult>

const FOREIGN =
  'This Origin or Host is not served. If clients reach the gateway by it, as behind a reverse proxy, its operator has to set SLUICE_PUBLIC_URL to that address.'

/**
 * POST /mcp: the Model Context Protocol over streamable HTTP, stateless. Every message is independent and is answered with
 * one JSON body; there are no sessions and no streams.
 */
export function mcpHandler(parts: McpParts): Handler {
  const tools: ReadonlyMap<string, ToolCall> = new Map<string, ToolCall>([
    ['list_models', (call) => listModelsTool(call, parts)],
    ['quote', (call) => quoteTool(call, parts)],
    ['chat', chatTool(parts)],
    ['balance', (call) => balanceTool(call, parts)],
    ['receipt', (call) => receiptTool(call, parts)],
  ])
  return async (exchange, body) => {
    let id = 'null'
    try {
      checkHead(exchange, parts)
      const received = await read(exchange.head, body, parts)
      if (received.id === '') {
        checkVersionHeader(exchange.head)
        exchange.answer(202, JSON_TYPE, '')
        return
      }
      id = received.id
      await serve(exchange, received, tools, parts)
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      exchange.answer(error.status, JSON_TYPE, errorText(error.id ?? id, error))
    }
  }
}

/** A message, with the body of a chat request where another thread has read it. */
interface Received {
  readonly id: string
  /** @throws RpcError */
  readonly request: () => JSONRPCRequest
  /** The body, or why it is refused; null where the arguments are among the parameters. */
  readonly chat: GatewayError | Buffer | null
}

/** @throws RpcError for a message that is too large or not JSON */
async function read(head: RequestHead, body: Buffer, { precheck, services }: McpParts): Promise<Received> {
  const { limits, large } = services
  const { mcpBodyBytesMax, strangerJsonAtOnceBytesMax } = limits
  if (body.length > mcpBodyBytesMax) {
    throw new RpcError(HTTP_FAULT, `The message is larger than ${mcpBodyBytesMax} bytes; send a smaller one.`, {
      status: 413,
    })
  }
  if (body.length > strangerJsonAtOnceBytesMax) {
    const thread = large.of(body, (await precheck(head)) === 'customer' ? 'customer' : 'stranger', '')
    if (thread !== undefined) return readLarge(thread)
  }
  const message = readMessage(body, limits)
  return { id: message.id, request: () => requestOf(message), chat: null }
}

async function readLarge(body: LargeBody): Promise<Received> {
  const message = await body.run('mcp', null).catch((error: unknown) => {
    if (!(error instanceof GatewayError)) throw error
    throw new RpcError(error.status === 400 ? PARSE_ERROR : HTTP_FAULT, error.message, { status: error.status })
  })
  if ('rpc' in message) {
    const refuse = (): never => {
      throw new RpcError(message.rpc.code, message.rpc.message, { status: message.rpc.status })
    }
    return message.id === undefined ? refuse() : { id: message.id, request: refuse, chat: null }
  }
  const { id, request, chat, refusal } = message
  const refused = refusal === undefined ? null : errorOf(refusal)
  return {
    id,
    request: () => request ?? requestOf({ id, method: '', parsed: {} }),
    chat: chat === undefined ? refused : Buffer.from(chat.buffer),
  }
}

/** @throws RpcError with the HTTP status that the transport asks for */
function checkHead({ head }: Exchange, { site }: McpParts): void {
  if (!isOwnSite(head, site)) throw new RpcError(HTTP_FAULT, FOREIGN, { status: 403 })
  if (!/^application\/json\s*(?:;|$)/i.test(head.contentType)) {
    throw new RpcError(HTTP_FAULT, 'Send the message as Content-Type: application/json.', { status: 415 })
  }
}

/** Has the library answer a request, in the revision that it is written in. @throws RpcError */
async function serve(
  exchange: Exchange,
  received: Received,
  tools: ReadonlyMap<string, ToolCall>,
  parts: McpParts,
): Promise<void> {
  const { id, chat } = received
  const request = received.request()
  // The handshake settles the revision; the header is for what follows it.
  if (request.method !== 'initialize') checkVersionHeader(exchange.head)
  const revision = revisionOf(exchange.head, request)
  if (revision === undefined) checkParams(request)
  const server = mcpServer((name, input, meta) => callTool({ name, input, chat, meta }, exchange, tools, parts))
  const transport = new ExchangeTransport(exchange, id, revision)
  server.onerror = (error) => {
    parts.services.onCrash(error, exchange.id)
    transport.fail()
  }
  await server.connect(transport)
  await transport.deliver(request)
}

/** Rejects params that the library would report as an internal error of its own. @throws RpcError */
function checkParams(request: JSONRPCRequest): void {
  if (request.method === 'initialize' && !isSpecType.InitializeRequest(request)) {
    throw new RpcError(INVALID_PARAMS, 'initialize needs protocolVersion, capabilities and clientInfo.')
  }
  if (request.method === 'tools/list' && !isSpecType.ListToolsRequest(request)) {
    throw new RpcError(INVALID_PARAMS, 'cursor must be a string.')
  }
}

/** A call of a tool by its name, as the client has sent it. */
interface CalledTool {
  readonly name: string
  readonly input: JsonObject
  readonly chat: Received['chat']
  readonly meta: JsonObject
}

/** Errors of the gateway are results, so that the calling model sees what to change. */
async function callTool(
  { name, input, chat, meta }: CalledTool,
  exchange: Exchange,
  tools: ReadonlyMap<string, ToolCall>,
  { services }: McpParts,
): Promise<CallToolResult> {
  const tool = tools.get(name)
  if (tool === undefined) {
    throw new RpcError(INVALID_PARAMS, `There is no such tool; there are ${[...tools.keys()].join(', ')}.`)
  }
  services.metrics.counters.requests++
  try {
    const credential = readCallCredential(exchange.head, meta, CHAT_PATH)
    if (chat instanceof GatewayError) throw chat
    if (chat === null) checkToolInput(name, input)
    return await tool({ exchange, input, chat, meta, credential })
  } catch (error) {
    if (error instanceof RpcError) throw error
    const isKnown = error instanceof GatewayError
    if (!isKnown) services.onCrash(error, exchange.id)
    const shown = isKnown ? error : new GatewayError('internal_error')
    services.metrics.noteError(shown.row)
    return errorResult(shown, exchange.id)
  }
}
