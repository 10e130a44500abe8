// Goal: POST /mcp speaks the revision without a handshake by its rules, beside the older ones, and checks what a tool is
// given by the schema that it shows. Method: raw messages.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  assertToolError,
  type Json,
  type McpReply,
  postMcp,
  rpcErrorOf,
  type ToolResult,
} from '../../support/clients/mcpClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const REVISION = '2026-07-28'
const PROTOCOL = 'io.modelcontextprotocol'
const ENVELOPE = { [`${PROTOCOL}/protocolVersion`]: REVISION, [`${PROTOCOL}/clientCapabilities`]: {} }
const HELLO = { model: 'test/small', max_tokens: 5, messages: [{ role: 'user', content: 'hello' }] }

let stack: Stack
let authorization: string

before(async () => {
  stack = await startStack()
  authorization = `Bearer ${(await stack.createAccount()).apiKey}`
})
after(() => stack.finish())

/** The headers that the revision asks of a message. */
function headersOf(method: string, name?: string): Record<string, string> {
  const named = { 'mcp-protocol-version': REVISION, 'mcp-method': method }
  return name === undefined ? named : { ...named, 'mcp-name': name }
}

function send(
  method: string,
  params: Json = {},
  headers: Record<string, string> = headersOf(method),
): Promise<McpReply> {
  const message = { jsonrpc: '2.0', id: 'one', method, params: { _meta: ENVELOPE, ...params } }
  return postMcp(stack.baseUrl, message, headers)
}

const callTool = (name: string, input: Json, headers: Record<string, string> = {}): Promise<McpReply> =>
  send('tools/call', { name, arguments: input }, { ...headersOf('tools/call', name), ...headers })

test('a client discovers the revision, lists the tools and calls one without a handshake', async () => {
  const found = (await send('server/discover')).body.result
  assert.deepEqual(found?.['supportedVersions'], [REVISION])
  assert.deepEqual(found?.['capabilities'], { tools: {} })
  const listed = (await send('tools/list')).body.result
  assert.equal((listed?.['tools'] as unknown[] | undefined)?.length, 5)
  assert.deepEqual([listed?.['resultType'], typeof listed?.['ttlMs']], ['complete', 'number'])
  const { status, body, headers } = await callTool('chat', HELLO, { authorization })
  assert.deepEqual([status, body.id, headers.get('mcp-session-id')], [200, 'one', null])
  const { structuredContent, resultType, _meta } = body.result as Json & { structuredContent: { receipt: Json } }
  assert.deepEqual([structuredContent.receipt['status'], resultType], ['ok', 'complete'])
  assert.equal(((_meta as Json)[`${PROTOCOL}/serverInfo`] as Json)['name'], 'sluice')
  await stack.settled()
  await stack.audit()
})

test('an id is returned exactly as it was sent', async () => {
  for (const id of ['9007199254740993', '"\\u0041"', '-1']) {
    const message = `{"jsonrpc":"2.0","id":${id},"method":"tools/list","params":{"_meta":${JSON.stringify(ENVELOPE)}}}`
    const { text } = await postMcp(stack.baseUrl, message, headersOf('tools/list'))
    assert.ok(text.startsWith(`{"jsonrpc":"2.0","id":${id},"result":{`), text)
  }
})

test('a name of a tool may be sent in base64', async () => {
  const name = `=?base64?${Buffer.from('list_models').toString('base64')}?=`
  assert.equal((await callTool('list_models', {}, { 'mcp-name': name })).status, 200)
})

const WRONG: [name: string, status: number, code: number, ask: () => Promise<McpReply>][] = [
  ['a method that is not served', 404, -32_601, () => send('resources/list')],
  ['a handshake', 404, -32_601, () => send('initialize', { protocolVersion: REVISION })],
  ['no revision in the headers', 400, -32_020, () => send('tools/list', {}, { 'mcp-method': 'tools/list' })],
  ['no method in the headers', 400, -32_020, () => send('tools/list', {}, { 'mcp-protocol-version': REVISION })],
  ['another method in the headers', 400, -32_020, () => send('tools/list', {}, headersOf('tools/call'))],
  ['no tool in the headers', 400, -32_020, () => send('tools/call', { name: 'quote' })],
  ['another tool in the headers', 400, -32_020, () => callTool('quote', HELLO, { 'mcp-name': 'chat' })],
  ['another revision in the headers', 400, -32_020, () => send('ping', {}, { 'mcp-protocol-version': '2025-06-18' })],
  ['headers without an envelope', 400, -32_602, () => send('tools/list', { _meta: {} })],
  [
    'an envelope that is incomplete',
    400,
    -32_602,
    () => send('tools/list', { _meta: { ...ENVELOPE, [`${PROTOCOL}/clientCapabilities`]: 1 } }),
  ],
  [
    'an unknown revision',
    400,
    -32_022,
    () => send('tools/list', { _meta: { ...ENVELOPE, [`${PROTOCOL}/protocolVersion`]: '2031-01-01' } }, {}),
  ],
  ['an unknown tool', 200, -32_602, () => callTool('rm', {})],
  [
    'a cursor that is a number',
    200,
    -32_602,
    () => postMcp(stack.baseUrl, { jsonrpc: '2.0', id: 1, method: 'tools/list', params: { cursor: 5 } }),
  ],
]
for (const [name, status, code, ask] of WRONG) {
  test(`rejected by the protocol: ${name}`, async () => {
    const reply = await ask()
    assert.deepEqual([reply.status, rpcErrorOf(reply).code], [status, code], reply.text)
    assert.notEqual(reply.body.id, null)
  })
}

const WRONG_INPUT: [tool: string, input: Json, param: string][] = [
  ['list_models', { modality: 5 }, 'modality'],
  ['list_models', { modalities: 'chat' }, 'modalities'],
  ['balance', { account: 'acct_1' }, 'account'],
  ['receipt', {}, 'id'],
  ['quote', { model: 'test/small', messages: [] }, 'messages'],
  ['quote', { model: 'test/small', messages: [{ content: 'x' }] }, 'messages.0.role'],
  ['chat', { ...HELLO, max_tokens: 'many' }, 'max_tokens'],
]
for (const [tool, input, param] of WRONG_INPUT) {
  test(`${tool} reports arguments that its schema does not allow: ${param}`, async () => {
    const params = { name: tool, arguments: input }
    const { body } = await postMcp(stack.baseUrl, { jsonrpc: '2.0', id: 1, method: 'tools/call', params })
    assertToolError(body.result as unknown as ToolResult, 400, null, param)
  })
}

test('an optional member may be null, as in a chat completion', async () => {
  const { body } = await callTool('quote', { ...HELLO, temperature: null, tools: null })
  assert.equal(body.result?.['isError'], undefined)
})
