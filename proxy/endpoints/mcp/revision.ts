import { classifyInboundRequest, type JSONRPCRequest, type MessageClassification } from '@modelcontextprotocol/server'
import type { RequestHead } from '../../server/exchange.ts'
import { HEADER_MISMATCH, MODERN_REVISION, PROTOCOL_VERSIONS, RpcError, unsupportedVersion } from './protocol.ts'

/** How Mcp-Name encodes text beyond plain ASCII. */
const ENCODED = /^=\?base64\?([A-Za-z0-9+/]*={0,2})\?=$/

/**
 * The revision of the protocol that a request is written in: that of its envelope in `_meta`, or, without one, one of
 * those that begin with a handshake.
 * @returns undefined for the latter
 * @throws RpcError for a revision that is not spoken, and where headers and body disagree
 */
export function revisionOf(head: RequestHead, request: JSONRPCRequest): MessageClassification | undefined {
  const route = classifyInboundRequest({
    httpMethod: 'POST',
    protocolVersionHeader: request.method === 'initialize' ? undefined : given(head.mcpVersion),
    mcpMethodHeader: given(head.mcpMethod),
    mcpNameHeader: given(head.mcpName),
    body: request,
  })
  if (route.kind === 'reject') {
    throw new RpcError(route.code, route.message, { status: route.httpStatus, data: route.data })
  }
  if (route.kind === 'legacy') return undefined
  const { revision } = route.classification
  if (revision !== MODERN_REVISION) throw unsupportedVersion(revision ?? '')
  checkHeaders(head, request)
  return route.classification
}

/** @throws RpcError for a header that names no revision of the protocol that is spoken */
export function checkVersionHeader({ mcpVersion }: RequestHead): void {
  if (mcpVersion !== '' && !PROTOCOL_VERSIONS.includes(mcpVersion)) throw unsupportedVersion(mcpVersion)
}

/** The headers that describe a request to intermediaries have to be present and to agree with it. */
function checkHeaders(head: RequestHead, { method, params }: JSONRPCRequest): void {
  if (head.mcpVersion === '') throw mismatch('MCP-Protocol-Version is missing')
  if (head.mcpMethod === '') throw mismatch('Mcp-Method is missing')
  const name = params?.['name']
  if (method !== 'tools/call' || typeof name !== 'string') return
  if (head.mcpName === '') throw mismatch('Mcp-Name is missing')
  const encoded = ENCODED.exec(head.mcpName)?.[1]
  const named = encoded === undefined ? head.mcpName : Buffer.from(encoded, 'base64').toString('utf8')
  if (named !== name) throw mismatch('Mcp-Name is not the name in the body')
}

function mismatch(what: string): RpcError {
  return new RpcError(HEADER_MISMATCH, `The headers and the body disagree: ${what}.`, { status: 400 })
}

function given(header: string): string | undefined {
  return header === '' ? undefined : header
}
