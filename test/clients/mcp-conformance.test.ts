// Goal: the public conformance checks of the protocol pass, as far as they are for a server that has tools alone and no
// sessions. Method: the published suite against a stack.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdirSync, writeFileSync } from 'node:fs'
import { createRequire } from 'node:module'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pathToFileURL } from 'node:url'
import { type Stack, startStack } from '../support/stack.ts'

/** The others call tools, prompts and resources of the suite's own example server. */
const SCENARIOS = [
  'server-initialize',
  'ping',
  'tools-list',
  'server-sse-multiple-streams',
  'dns-rebinding-protection',
  'server-session-lifecycle',
  'server-stateless',
  'caching',
]
const TIMEOUT_MS = 60_000

// The suite is written for Node 22, and needs no more of it than that this function can be imported.
const SHIM = `import fs from 'node:fs'
import { syncBuiltinESMExports } from 'node:module'
fs.globSync ??= () => []
syncBuiltinESMExports()
`

let stack: Stack

before(async () => {
  stack = await startStack()
})
after(() => stack.finish())

function runSuite(scenario: string): Promise<{ code: number | null; output: string }> {
  const dir = join(stack.dir, 'conformance')
  mkdirSync(dir, { recursive: true })
  const shim = join(dir, 'shim.mjs')
  writeFileSync(shim, SHIM)
  const suite = createRequire(import.meta.url).resolve('@modelcontextprotocol/conformance/dist/index.js')
  const args = ['--import', pathToFileURL(shim).href, suite, 'server', '--url', `${stack.baseUrl}/mcp`]
  const child = spawn(process.execPath, [...args, '--scenario', scenario], { cwd: dir, timeout: TIMEOUT_MS })
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
    assert.equal(code, 0, output)
    assert.match(output, /Passed: ([1-9]\d*)\/\1/, output)
  })
}
