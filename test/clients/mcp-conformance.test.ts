// Goal: the public conformance checks of the protocol pass, as far as they are for a server that has tools alone and no
// sessions, and the official client of the revision without a handshake agrees with the gateway on the newest that it may speak.
// Method: the published suite and the client against a stack.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { createRequire } from 'node:module'
import { after, before, test } from 'node:test'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Stack, startStack } from '../support/stack.ts'

/** The others are about sessions, or call tools, prompts and resources of the suite's own example server. */
const SCENARIOS = ['server-initialize', 'ping', 'tools-list', 'dns-rebinding-protection']
const TIMEOUT_MS = 60_000
const OUTPUT_SHOWN = 4_000

// The suite is written for Node 22, and needs no more of it than that this function can be imported.
const FS = "export * from 'node:fs'; export { default } from 'node:fs'; export const globSync = () => []"
const HOOKS = `export async function resolve(name, context, next) {
  if (name !== 'fs' || !context.parentURL?.includes('/conformance/')) return next(name, context)
  return { url: ${JSON.stringify(moduleOf(FS))}, shortCircuit: true }
}`
const SHIM = moduleOf(`import { register } from 'node:module'; register(${JSON.stringify(moduleOf(HOOKS))})`)

function moduleOf(code: string): string {
  return `data:text/javascript,${encodeURIComponent(code)}`
}

let stack: Stack

before(async () => {
  stack = await startStack()
})
after(() => stack.finish())

function runSuite(scenario: string): Promise<{ code: number | null; output: string }> {
  const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')
  const args = ['--import', SHIM, suite, 'server', '--url', `${stack.baseUrl}/mcp`]
  const child = spawn(process.execPath, [...args, '--scenario', scenario], { cwd: stack.dir, timeout: TIMEOUT_MS })
  let output = ''
  child.stdout.on('data', (bytes: Buffer) => {
    output += bytes.toString('utf8')
  })
  child.stderr.on('data', (bytes: Buffer) => {
    output += bytes.toString('utf8')
  })
  return new Promise((resolve, reject) => {
    child.on('error', reject)
    child.on('close', (code) => resolve({ code, output }))
  })
}

for (const scenario of SCENARIOS) {
  test(`conformance: ${scenario}`, async () => {
    const { code, output } = await runSuite(scenario)
    assert.equal(code, 0, output.slice(-OUTPUT_SHOWN))
    assert.match(output, /Passed: ([1-9]\d*)\/\1/, output.slice(-OUTPUT_SHOWN))
  })
}

const AGREED = [
  ['legacy', '2025-11-25'],
  ['auto', '2026-07-28'],
  [{ pin: '2026-07-28' }, '2026-07-28'],
] as const

for (const [mode, revision] of AGREED) {
  test(`@modelcontextprotocol/client connects and chats, negotiating ${JSON.stringify(mode)}`, async () => {
    const { apiKey } = await stack.createAccount()
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
