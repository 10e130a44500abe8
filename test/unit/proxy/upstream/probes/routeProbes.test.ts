// Goal: a provider that is down is known without a request, and one that is back serves again. Method: a listener that
// opens and closes, and the health of routes as the proxy keeps it.
import assert from 'node:assert/strict'
import { createServer, type Server } from 'node:net'
import { test } from 'node:test'
import { freePort } from '../../../../../control/launch/process/freePort.ts'
import type { Catalog } from '../../../../../proxy/catalog/catalog.ts'
import { RouteProbes } from '../../../../../proxy/upstream/probes/routeProbes.ts'
import { RouteHealth } from '../../../../../proxy/upstream/routeHealth.ts'
import { limits } from '../../../../support/limits.ts'
import { until } from '../../../../support/until.ts'

const listen = (port: number): Promise<Server> =>
  new Promise((resolve) => {
    const server = createServer((socket) => socket.destroy()).listen(port, '127.0.0.1', () => resolve(server))
  })
const close = (server: Server): Promise<void> => new Promise((resolve) => server.close(() => resolve()))

/** Two models with a route each to one provider, and a route that is not enabled to another. */
function catalogOf(origin: string): Catalog {
  const route = (id: string, at: string) => ({ id, provider: { origin: at } })
  const models = [
    { enabledRoutes: [route('acme/small', origin)] },
    { enabledRoutes: [route('acme/large', origin)], routes: [route('other/large', 'http://127.0.0.1:1')] },
  ]
  return { models: new Map(Object.entries(models)), tools: new Map() } as unknown as Catalog
}

test('the breaker opens for routes to an unreachable provider without a request, and closes once it is reachable', async (t) => {
  const port = await freePort()
  let server = await listen(port)
  const ownLimits = { ...limits, breakerFailures: 2, breakerOpenMs: 400, routeProbeMs: 20, routeProbeRetryMs: 20 }
  const health = new RouteHealth(ownLimits)
  const probes = new RouteProbes({ catalog: () => catalogOf(`http://127.0.0.1:${port}`), health, limits: ownLimits })
  t.after(() => {
    probes.stop()
    server.close()
  })
  let connections = 0
  server.on('connection', () => connections++)
  probes.start()
  await until('the provider to be probed', () => connections >= 3)
  const isOpen = (id: string) => health.isOpen(id, Date.now())
  assert.ok(isOpen('acme/small') && isOpen('acme/large'))
  await close(server)
  await until('the routes to be shut', () => !isOpen('acme/small') && !isOpen('acme/large'))
  assert.ok(isOpen('other/large'))
  server = await listen(port)
  await until('the routes to be open again', () => isOpen('acme/small') && isOpen('acme/large'))
  // One request decides whether they stay open.
  health.failed('acme/small', Date.now())
  assert.ok(!isOpen('acme/small'))
})
