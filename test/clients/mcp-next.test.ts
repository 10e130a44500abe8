// Goal: the official client of the revision without a handshake agrees with the gateway on the newest that it may speak.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Stack, startStack } from '../support/stack.ts'

let stack: Stack
let apiKey: string

before(async () => {
  stack = await startStack()
  apiKey = (await stack.createAccount()).apiKey
})
after(() => stack.finish())

const AGREED = [
  ['legacy', '2025-11-25'],
  ['auto', '2026-07-28'],
  [{ pin: '2026-07-28' }, '2026-07-28'],
] as const

for (const [mode, revision] of AGREED) {
  test(`@modelcontextprotocol/client connects and chats, negotiating ${JSON.stringify(mode)}`, async () => {
    const client = new Client({ name: 'next', version: '1.0.0' }, { versionNegotiation: { mode } })
    const requestInit = { headers: { authorization: `Bearer ${apiKey}` } }
    await client.connect(new StreamableHTTPClientTransport(new URL(`${stack.baseUrl}/mcp`), { requestInit }))
    assert.equal(client.getNegotiatedProtocolVersion(), revision)
    const { tools } = await client.listTools()
    assert.equal(tools.length, 5)
    const input = { model: 'test/small', max_tokens: 5, messages: [{ role: 'user', content: 'hi' }] }
    const result = await client.callTool({ name: 'chat', arguments: input })
    const { object, receipt } = result.structuredContent as { object: string; receipt: { status: string } }
    assert.deepEqual([object, receipt.status], ['chat.completion', 'ok'])
    await client.close()
  })
}
