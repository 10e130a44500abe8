import { type CallToolResult, INTERNAL_ERROR, Server, type ServerOptions } from '@modelcontextprotocol/server'
import { GATEWAY_VERSION } from '../../../contract/api/version.ts'
import { isJsonObject, type JsonObject } from '../../../contract/std/jsonObject.ts'
import { PROTOCOL_VERSIONS, RpcError } from './protocol.ts'
import { MCP_TOOLS } from './toolList.ts'

const SERVER_INFO = { name: 'sluice', title: 'Sluice', version: GATEWAY_VERSION }
const INSTRUCTIONS =
  'list_models says which models there are; quote what a chat call costs at most; chat runs it on an API key ' +
  '(Authorization: Bearer sk_...) or on a payment by x402 or MPP in _meta; balance and receipt say what was spent.'

const OPTIONS: ServerOptions = {
  capabilities: { tools: {} },
  instructions: INSTRUCTIONS,
  supportedProtocolVersions: [...PROTOCOL_VERSIONS],
  // The inputs of tools are checked by the gateway, and nothing is elicited.
  jsonSchemaValidator: {
    getValidator: () => {
      throw new RpcError(INTERNAL_ERROR, 'There is no schema to check by.')
    },
  },
}

/** Runs a tool. @param meta `_meta` of the call without the members of the protocol */
export type CallTool = (name: string, input: JsonObject, meta: JsonObject) => Promise<CallToolResult>

/**
 * A server of the protocol for one request; the endpoint keeps nothing between two. The plain server of the library is
 * taken, and not the one that tools are registered with, because errors of tools have a shape of the gateway's own.
 */
export function mcpServer(callTool: CallTool): Server {
  const server = new Server(SERVER_INFO, OPTIONS)
  server.setRequestHandler('tools/list', () => ({ tools: [...MCP_TOOLS] }))
  server.setRequestHandler('tools/call', ({ params }) => {
    const { name, arguments: input = {}, _meta: meta } = params
    return callTool(name, input, isJsonObject(meta) ? meta : {})
  })
  return server
}
