// Goal: POST /mcp keeps the rules of the protocol for every message, sound or not. Method: raw messages, and the official
// client for what it does by itself.
import assert from 'node:assert/strict'
import { request } from 'node:http'
import { after, before, test } from 'node:test'
import { SUPPORTED_PROTOCOL_VERSIONS } from '@modelcontextprotocol/sdk/types.js'
import fc from 'fast-check'
import { isJsonObject } from '../../../contract/std/jsonObject.ts'
import { connectMcp, postMcp } from '../../support/clients/mcpClient.ts'
import { type Stack, startStack } from '../../support/stack.ts'

const TOOLS = ['list_models', 'quote', 'chat', 'balance', 'receipt']
const CLIENT = { name: 'raw', version: '1' }

let stack: Stack

before(async () => {
  stack = await startStack()
})
after(() => stack.finish())

const post = (message: unknown, headers?: Record<string, string>) => postMcp(stack.baseUrl, message, headers)
const call = (method: string, params: unknown = {}, id: unknown = 1) => post({ jsonrpc: '2.0', id, method, params })
const initialize = (protocolVersion: unknown) =>
  call('initialize', { protocolVersion, capabilities: {}, clientInfo: CLIENT })

test('the official client connects, pings and lists the tools', async () => {
  const client = await connectMcp(stack.baseUrl)
  assert.equal(client.getServerVersion()?.name, 'sluice')
  assert.deepEqual(client.getServerCapabilities(), { tools: {} })
  await client.ping()
  const { tools } = await client.listTools()
  assert.deepEqual(
    tools.map(({ name }) => name),
    TOOLS,
  )
  for (const { inputSchema, outputSchema, description } of tools) {
    assert.equal(inputSchema.type, 'object')
    assert.equal(outputSchema?.type, 'object')
    assert.ok(description)
  }
  await client.close()
})

test('a known revision is accepted, and an unknown one is answered with the newest', async () => {
  for (const version of SUPPORTED_PROTOCOL_VERSIONS) {
    const { status, body, headers } = await initialize(version)
    assert.equal(status, 200)
    assert.equal(body.result?.['protocolVersion'], version)
    assert.equal(headers.get('mcp-session-id'), null)
  }
  assert.equal((await initialize('1999-01-01')).body.result?.['protocolVersion'], '2025-11-25')
  assert.equal((await initialize(7)).body.error?.code, -32_602)
})

test('tools are listed without a handshake for any revision in the header', async () => {
  for (const version of ['2025-03-26', '2025-06-18', '2025-11-25']) {
    const reply = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-protocol-version': version })
    assert.equal((reply.body.result?.['tools'] as unknown[] | undefined)?.length, TOOLS.length)
  }
  const unknown = await post({ jsonrpc: '2.0', id: 1, method: 'tools/list' }, { 'mcp-protocol-version': '2031-01-01' })
  assert.equal(unknown.status, 400)
  assert.deepEqual(unknown.body.error?.data?.['requested'], '2031-01-01')
  assert.equal(unknown.body.id, 1)
})

for (const header of ['2026-07-28', '2027-01-01', '2025-03-26']) {
  test(`the handshake settles the revision, whatever its header says: ${header}`, async () => {
    const params = { protocolVersion: '2027-01-01', capabilities: {}, clientInfo: { name: 'x', version: '1' } }
    const message = { jsonrpc: '2.0', id: 7, method: 'initialize', params }
    const { status, body, text } = await post(message, { 'mcp-protocol-version': header })
    assert.equal(status, 200, text)
    assert.deepEqual([body.id, (body.result as { protocolVersion?: string }).protocolVersion], [7, '2025-11-25'])
  })
}

test('arguments of null are absent, as params of null are', async () => {
  const params = { name: 'list_models', arguments: null }
  for (const message of [
    { method: 'tools/call', params },
    { method: 'ping', params: null },
  ]) {
    const { body, text } = await post({ jsonrpc: '2.0', id: 1, ...message })
    assert.ok(body.error === undefined && body.result !== undefined, text)
  }
})

test('a notification with a header of an unknown revision is refused', async () => {
  const message = { jsonrpc: '2.0', method: 'notifications/initialized' }
  const { status, body } = await post(message, { 'mcp-protocol-version': '2031-01-01' })
  assert.deepEqual([status, body.id], [400, null])
})

test('an id is returned exactly as it was sent', async () => {
  for (const id of ['"x"', '"1"', '1', '0', '-5', '"\\u0041\\n"', '9007199254740993', '""', '1e2']) {
    const { text } = await post(`{"jsonrpc":"2.0","id":${id},"method":"ping"}`)
    assert.equal(text, `{"jsonrpc":"2.0","id":${id},"result":{}}`)
  }
})

test('notifications and responses are accepted without a reply', async () => {
  for (const message of [
    { jsonrpc: '2.0', method: 'notifications/initialized' },
    { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } },
    { jsonrpc: '2.0', id: 1, result: {} },
    { jsonrpc: '2.0', id: 1, error: { code: 1, message: 'x' } },
  ]) {
    const { status, text } = await post(message)
    assert.deepEqual([status, text], [202, ''])
  }
})

const WRONG: [name: string, message: unknown, status: number, code: number][] = [
  ['no JSON', '{"jsonrpc"', 400, -32_700],
  ['nothing', ' ', 400, -32_700],
  ['a batch', [{ jsonrpc: '2.0', id: 1, method: 'ping' }], 400, -32_600],
  ['an empty batch', [], 400, -32_600],
  ['a text', '"ping"', 400, -32_600],
  ['no version', { id: 1, method: 'ping' }, 400, -32_600],
  ['another version', { jsonrpc: '1.0', id: 1, method: 'ping' }, 400, -32_600],
  ['an id of null', { jsonrpc: '2.0', id: null, method: 'ping' }, 400, -32_600],
  ['an id that is an object', { jsonrpc: '2.0', id: {}, method: 'ping' }, 400, -32_600],
  ['a fraction for an id', { jsonrpc: '2.0', id: 1.5, method: 'ping' }, 400, -32_600],
  ['no method', { jsonrpc: '2.0', id: 1 }, 400, -32_600],
  ['a method that is a number', { jsonrpc: '2.0', id: 1, method: 5 }, 400, -32_600],
  ['an unknown method', { jsonrpc: '2.0', id: 1, method: 'resources/list' }, 200, -32_601],
  ['params that are a list', { jsonrpc: '2.0', id: 1, method: 'tools/list', params: [] }, 200, -32_602],
  ['_meta that is a text', { jsonrpc: '2.0', id: 1, method: 'ping', params: { _meta: 'x' } }, 200, -32_602],
  ['an unknown tool', { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'rm' } }, 200, -32_602],
  ['no tool', { jsonrpc: '2.0', id: 1, method: 'tools/call' }, 200, -32_602],
  [
    'arguments that are a list',
    { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'chat', arguments: [] } },
    200,
    -32_602,
  ],
]
for (const [name, message, status, code] of WRONG) {
  test(`rejected by the protocol: ${name}`, async () => {
    const reply = await post(message)
    assert.deepEqual([reply.status, reply.body.error?.code, reply.body.jsonrpc], [status, code, '2.0'], reply.text)
    const id: unknown = isJsonObject(message) ? message['id'] : undefined
    assert.equal(reply.body.id, Number.isInteger(id) ? id : null)
  })
}

test('a body that is nested too deep is rejected', async () => {
  const deep = `${'['.repeat(5_000)}${']'.repeat(5_000)}`
  const reply = await post(`{"jsonrpc":"2.0","id":1,"method":"ping","params":{"x":${deep}}}`)
  assert.equal(reply.status, 400)
})

test('other methods and content types are rejected', async () => {
  for (const method of ['GET', 'DELETE']) {
    const response = await fetch(`${stack.baseUrl}/mcp`, { method })
    assert.equal(response.status, 405)
    assert.match(response.headers.get('allow') ?? '', /POST/)
  }
  assert.equal((await post({ jsonrpc: '2.0', id: 1, method: 'ping' }, { 'content-type': 'text/plain' })).status, 415)
})

test('requests from other origins and rebound names are rejected', async () => {
  const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
  const own = new URL(stack.baseUrl)
  for (const origin of [
    'https://evil.example',
    'null',
    'http://localhost.evil.example',
    'http://127.0.0.1.evil.example',
  ]) {
    assert.equal((await post(ping, { origin })).status, 403, origin)
  }
  for (const origin of [own.origin, `http://localhost:${own.port}`, 'http://[::1]:3000']) {
    assert.equal((await post(ping, { origin })).status, 200, origin)
  }
  assert.equal(await statusFor(`evil.example:${own.port}`), 403)
  assert.equal(await statusFor(`localhost:${own.port}`), 200)
  // An operator behind a reverse proxy learns what is missing.
  const { error } = (await post(ping, { origin: 'https://gateway.example' })).body
  assert.match(error?.message ?? '', /Origin or Host is not served.*SLUICE_PUBLIC_URL/)
})

test('property: no message breaks the endpoint', async () => {
  const member = fc.oneof(fc.jsonValue(), fc.constantFrom('2.0', 'tools/call', 'initialize', 'ping', 'tools/list'))
  const message = fc.record(
    {
      jsonrpc: fc.oneof({ weight: 5, arbitrary: fc.constant('2.0') }, member),
      id: member,
      method: member,
      params: fc.oneof(
        fc.record(
          { name: fc.constantFrom(...TOOLS), arguments: fc.jsonValue(), _meta: fc.jsonValue() },
          { requiredKeys: [] },
        ),
        member,
      ),
    },
    { requiredKeys: ['jsonrpc'] },
  )
  await fc.assert(
    fc.asyncProperty(fc.oneof(message, fc.jsonValue()), async (sent) => {
      const { status, body } = await post(JSON.stringify(sent))
      assert.ok([200, 202, 400].includes(status), `${status}`)
      if (status !== 202) assert.ok('result' in body !== 'error' in body)
    }),
    { numRuns: 200 },
  )
})

function statusFor(host: string): Promise<number> {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
  return new Promise((resolve, reject) => {
    const headers = { host, 'content-type': 'application/json', 'content-length': String(body.length) }
    const sent = request(`${stack.baseUrl}/mcp`, { method: 'POST', headers }, (response) => {
      response.resume()
      resolve(response.statusCode ?? 0)
    })
    sent.on('error', reject)
    sent.end(body)
  })
}
