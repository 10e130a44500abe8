import type {
  CallToolResult,
  Implementation,
  InitializeResult,
  ListToolsResult,
} from '@modelcontextprotocol/sdk/types.js'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { isObject, type JsonObject } from '../../json/jsonObject.ts'
import {
  type Exchange,
  type Handler,
  JSON_TYPE,
  type Precheck,
  type RequestHead,
  type Sender,
} from '../../server/exchange.ts'
import { CHAT_PATH, chatTool } from './chat.ts'
import { readCallCredential } from './credential.ts'
import { type Message, paramsOf, readMessage } from './message.ts'
import type { McpCall, McpParts } from './parts.ts'
import {
  errorText,
  INVALID_PARAMS,
  METHOD_NOT_FOUND,
  PARSE_ERROR,
  PROTOCOL_VERSIONS,
  RpcError,
  resultText,
  UNSUPPORTED_VERSION,
} from './protocol.ts'
import { quoteTool } from './quote.ts'
import { balanceTool, listModelsTool, receiptTool } from './reads.ts'
import { errorResult } from './results.ts'
import { isOwnSite } from './site.ts'
import { MCP_TOOLS } from './toolList.ts'

const SERVER_INFO: Implementation = { name: 'sluice', title: 'Sluice', version: '0.1.0' }
const INSTRUCTIONS =
  'list_models says which models there are; quote what a chat call costs at most; chat runs it on an API key ' +
  '(Authorization: Bearer sk_...) or on a payment by x402 or MPP in _meta; balance and receipt say what was spent.'

type ToolCall = (call: McpCall) => Promise<CallToolResult>

/**
 * POST /mcp: the Model Context Protocol over streamable HTTP, stateless. Every message stands for itself and is answered
 * with one JSON body; there are no sessions and no streams.
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
      await parseLarge(exchange.head, body, parts)
      const message = readMessage(body, parts.services.limits)
      if (message.id === '') {
        exchange.answer(202, JSON_TYPE, '')
        return
      }
      id = message.id
      const result = await answer(message, exchange, tools, parts)
      exchange.answer(200, JSON_TYPE, resultText(id, result))
    } catch (error) {
      if (!(error instanceof RpcError)) throw error
      exchange.answer(error.status, JSON_TYPE, errorText(id, error))
    }
  }
}

/** @throws RpcError for a message that is too large or is no JSON */
async function parseLarge(head: RequestHead, body: Buffer, { parser, precheck, services }: McpParts): Promise<void> {
  const { mcpBodyBytesMax, strangerJsonAtOnceBytesMax } = services.limits
  if (body.length > mcpBodyBytesMax) {
    throw new RpcError(-32_000, `The message is larger than ${mcpBodyBytesMax} bytes; send a smaller one.`, {
      status: 413,
    })
  }
  if (body.length <= strangerJsonAtOnceBytesMax) return
  const owner = (await precheck(head)) === 'customer' ? 'customer' : 'stranger'
  try {
    await parser.prepare(body, owner)
  } catch (error) {
    if (!(error instanceof GatewayError)) throw error
    throw new RpcError(error.status === 400 ? PARSE_ERROR : -32_000, error.message, { status: error.status })
  }
}

/** Holders of keys are customers. Everybody else is told by the handler, in the form of the protocol, what is wrong. */
export function mcpPrecheck(keyed: Precheck): Precheck {
  const known = (sender: Sender): Sender => (sender === 'customer' ? sender : 'stranger')
  return (head) => {
    const sender = keyed(head)
    return sender instanceof Promise ? sender.then(known) : known(sender)
  }
}

/** @throws RpcError with the HTTP status that the transport asks for */
function checkHead({ head }: Exchange, { site }: McpParts): void {
  if (!isOwnSite(head, site)) throw new RpcError(-32_000, 'This Origin or Host is not served.', { status: 403 })
  if (!/^application\/json\s*(?:;|$)/i.test(head.contentType)) {
    throw new RpcError(-32_000, 'Send the message as Content-Type: application/json.', { status: 415 })
  }
  const { mcpVersion } = head
  if (mcpVersion === '' || PROTOCOL_VERSIONS.includes(mcpVersion)) return
  const data = { supported: PROTOCOL_VERSIONS, requested: mcpVersion }
  throw new RpcError(UNSUPPORTED_VERSION, 'This MCP-Protocol-Version is not supported.', { status: 400, data })
}

async function answer(
  message: Message,
  exchange: Exchange,
  tools: ReadonlyMap<string, ToolCall>,
  parts: McpParts,
): Promise<unknown> {
  const { params, meta } = paramsOf(message)
  switch (message.method) {
    case 'initialize':
      return initialize(params)
    case 'ping':
      return {}
    case 'tools/list':
      return { tools: [...MCP_TOOLS] } satisfies ListToolsResult
    case 'tools/call':
      return callTool(params, meta, exchange, tools, parts)
    default:
      throw new RpcError(METHOD_NOT_FOUND, `There is no method ${JSON.stringify(message.method.slice(0, 100))}.`)
  }
}

function initialize({ protocolVersion }: JsonObject): InitializeResult {
  if (typeof protocolVersion !== 'string') throw new RpcError(INVALID_PARAMS, 'protocolVersion must be a string.')
  const [latest = ''] = PROTOCOL_VERSIONS
  return {
    protocolVersion: PROTOCOL_VERSIONS.includes(protocolVersion) ? protocolVersion : latest,
    capabilities: { tools: {} },
    serverInfo: SERVER_INFO,
    instructions: INSTRUCTIONS,
  }
}

/** Errors of the gateway are results, so that the model that calls sees what to change. */
async function callTool(
  { name, arguments: given }: JsonObject,
  meta: JsonObject,
  exchange: Exchange,
  tools: ReadonlyMap<string, ToolCall>,
  { services }: McpParts,
): Promise<CallToolResult> {
  const tool = typeof name === 'string' ? tools.get(name) : undefined
  if (tool === undefined)
    throw new RpcError(INVALID_PARAMS, `There is no such tool; there are ${[...tools.keys()].join(', ')}.`)
  const input = given ?? {}
  if (!isObject(input)) throw new RpcError(INVALID_PARAMS, 'arguments must be an object.')
  services.metrics.counters.requests++
  try {
    const credential = readCallCredential(exchange.head, meta, CHAT_PATH)
    return await tool({ exchange, input, meta, credential })
  } catch (error) {
    if (error instanceof RpcError) throw error
    const isKnown = error instanceof GatewayError
    if (!isKnown) services.onCrash(error, exchange.id)
    const shown = isKnown ? error : new GatewayError('internal_error')
    services.metrics.noteError(shown.row)
    return errorResult(shown, exchange.id)
  }
}
