// Goal: an operator reads from the log and the metrics of what a connection to a provider failed. Method: providers that
// cannot be reached, in each way that needs no network, behind a whole stack.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:https'
import type { AddressInfo } from 'node:net'
import { after, before, test } from 'node:test'
import { freePort } from '../../control/launch/process/freePort.ts'
import { UNTRUSTED } from '../support/certificates.ts'
import { assertError, chat } from '../support/clients/chatClient.ts'
import { type Stack, startStack } from '../support/stack.ts'
import { until } from '../support/until.ts'

let stack: Stack
let apiKey: string
let server: Server

before(async () => {
  server = createServer(UNTRUSTED, (_request, response) => response.end())
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  const { port } = server.address() as AddressInfo
  const urls = {
    certificate: `https://localhost:${port}/v1`,
    refused: `http://127.0.0.1:${await freePort()}/v1`,
  }
  stack = await startStack({
    // A probe of the routes fails, too, and must not count here.
    limits: { routeProbeMs: 3_600_000 },
    catalog: {
      providers: Object.entries(urls).map(([id, url]) => ({ id, base_url: url })),
      models: Object.keys(urls).map((id) => ({ id: `test/${id}`, routes: [{ provider: id, model: 'm' }] })),
    },
  })
  apiKey = (await stack.createAccount()).apiKey
})
after(async () => {
  server?.close()
  await stack?.finish()
})

const CAUSES: [kind: string, code: RegExp][] = [
  ['certificate', /"cause":"DEPTH_ZERO_SELF_SIGNED_CERT"/],
  ['refused', /"cause":"ECONNREFUSED"/],
]
for (const [kind, code] of CAUSES) {
  test(`a connection that fails of: ${kind}`, async () => {
    assertError(await chat(stack.baseUrl, apiKey, { model: `test/${kind}` }), 502, 'upstream_unavailable')
    // The log reaches this process after the answer.
    const lineOf = () =>
      stack
        .logs()
        .split('\n')
        .find((line) => line.includes(`"route":"${kind}/m"`))
    await until('the fault is logged', () => lineOf() !== undefined)
    assert.match(lineOf() ?? '', code)
    const metrics = await (await fetch(stack.metricsUrl)).text()
    assert.match(metrics, new RegExp(`^sluice_connection_faults_total\\{cause="${kind}"\\} 1$`, 'm'))
  })
}
