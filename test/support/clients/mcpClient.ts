import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { itemOf } from '../present.ts'

export type Json = Record<string, unknown>

/** A result of a tool. */
export interface ToolResult {
  readonly content: { type: string; text: string }[]
  readonly structuredContent: Json
  readonly isError?: boolean
  readonly _meta?: Json
}

/** The official client, connected. @param apiKey '' for none */
export async function connectMcp(baseUrl: string, apiKey = '', headers: Record<string, string> = {}): Promise<Client> {
  const sent = { ...(apiKey === '' ? {} : { authorization: `Bearer ${apiKey}` }), ...headers }
  const client = new Client({ name: 'sluice-tests', version: '1.0.0' })
  const transport = new StreamableHTTPClientTransport(new URL(`${baseUrl}/mcp`), { requestInit: { headers: sent } })
  await client.connect(transport as never)
  return client
}

/** Calls a tool through the official client, which checks structured content against the output schema. */
export async function callMcp(client: Client, name: string, input: Json = {}, meta?: Json): Promise<ToolResult> {
  const params = { name, arguments: input, ...(meta !== undefined && { _meta: meta }) }
  return (await client.callTool(params)) as unknown as ToolResult
}

/** The content of a call that has to succeed. */
export async function callOk(client: Client, name: string, input: Json = {}, meta?: Json): Promise<Json> {
  const result = await callMcp(client, name, input, meta)
  assert.ok(result.isError !== true, JSON.stringify(result))
  return result.structuredContent
}

/** Asserts that a result is this error of the gateway. */
export function assertToolError(result: ToolResult, status: number, code: string | null, param?: string): void {
  assert.equal(result.isError, true, JSON.stringify(result))
  const { error, http_status } = result.structuredContent as { error?: Json; http_status?: number }
  assert.deepEqual([http_status, error?.['code']], [status, code], JSON.stringify(result))
  if (param !== undefined) assert.equal(error?.['param'], param)
  assert.deepEqual(JSON.parse(itemOf(result.content, 0).text), result.structuredContent)
}

/** An answer of POST /mcp as it comes. */
export interface McpReply {
  readonly status: number
  readonly headers: Headers
  readonly text: string
  readonly body: {
    jsonrpc?: string
    id?: unknown
    result?: Json
    error?: { code: number; message: string; data?: Json }
  }
}

/** Sends a message without the client. @param message JSON text, or what becomes it */
export async function postMcp(
  baseUrl: string,
  message: unknown,
  headers: Record<string, string> = {},
): Promise<McpReply> {
  const response = await fetch(`${baseUrl}/mcp`, {
    method: 'POST',
    headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream', ...headers },
    body: typeof message === 'string' ? message : JSON.stringify(message),
  })
  const text = await response.text()
  return {
    status: response.status,
    headers: response.headers,
    text,
    body: (text === '' ? {} : JSON.parse(text)) as Json,
  }
}

/** The error that an answer is. */
export function rpcErrorOf({ body, text }: McpReply): { readonly code: number; readonly data: Json } {
  assert.ok(body.error !== undefined, text)
  return { code: body.error.code, data: body.error.data ?? {} }
}
