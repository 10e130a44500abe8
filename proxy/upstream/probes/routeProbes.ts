import { connect, type Socket } from 'node:net'
import { portOf, withoutBrackets } from '../../../contract/net/ipAddress.ts'
import { openTunnel } from '../../../contract/net/tunnel.ts'
import type { Reach } from '../../../contract/providers/reach.ts'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { UpstreamLimits } from '../limits.ts'
import type { RouteHealth } from '../routeHealth.ts'

export interface RouteProbesOptions {
  readonly catalog: () => Catalog | null
  readonly health: Pick<RouteHealth, 'failed'>
  readonly limits: Pick<UpstreamLimits, 'routeProbeMs' | 'routeProbeRetryMs' | 'routeProbeTimeoutMs'>
}

/**
 * Connects to every provider periodically, through the proxy on the way if there is one, so that an outage is detected before a request fails. A failed probe counts for
 * each route of the provider as a request that could not reach it; only a request proves that a route works.
 */
export class RouteProbes {
  private readonly options: RouteProbesOptions
  private readonly unreachable = new Set<string>()
  private readonly timers: NodeJS.Timeout[] = []

  constructor(options: RouteProbesOptions) {
    this.options = options
  }

  start(): void {
    const { routeProbeMs, routeProbeRetryMs } = this.options.limits
    this.timers.push(
      setInterval(() => this.probeAll((name) => !this.unreachable.has(name)), routeProbeMs).unref(),
      setInterval(() => this.probeAll((name) => this.unreachable.has(name)), routeProbeRetryMs).unref(),
    )
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer)
  }

  private probeAll(isDue: (name: string) => boolean): void {
    for (const [name, ways] of enabledRoutes(this.options.catalog())) {
      if (isDue(name)) void this.probe(name, ways)
    }
  }

  private async probe(name: string, { origin, reach, routes }: Way): Promise<void> {
    if (await canConnect(origin, reach, this.options.limits.routeProbeTimeoutMs)) {
      this.unreachable.delete(name)
      return
    }
    this.unreachable.add(name)
    for (const route of routes) this.options.health.failed(route.id, Date.now())
  }
}

/** Routes that lead to one origin by the same way. */
interface Way {
  readonly origin: string
  readonly reach: Reach | undefined
  readonly routes: Route[]
}

/** The routes that requests may take, by the origin that they lead to and the proxy on the way. */
function enabledRoutes(catalog: Catalog | null): Map<string, Way> {
  const routes = [...(catalog?.models.values() ?? [])].flatMap((model) => model.enabledRoutes)
  const tools = [...(catalog?.tools.values() ?? [])].map(({ route }) => route).filter(({ enabled }) => enabled)
  const found = new Map<string, Way>()
  for (const route of new Map([...routes, ...tools].map((each) => [each.id, each])).values()) {
    const { origin, reach } = route.provider
    const name = reach?.proxy === undefined ? origin : `${reach.name} ${origin}`
    const way = found.get(name) ?? { origin, reach, routes: [] }
    way.routes.push(route)
    found.set(name, way)
  }
  return found
}

/** Whether a TCP connection can be made in time, or a tunnel. */
function canConnect(origin: string, reach: Reach | undefined, timeoutMs: number): Promise<boolean> {
  const url = new URL(origin)
  const end = { host: withoutBrackets(url.hostname), port: portOf(url) }
  return new Promise((resolve) => {
    const over = (isConnected: boolean) => {
      resolve(isConnected)
      socket.destroy()
    }
    const socket: Socket =
      reach?.proxy === undefined
        ? connect(end)
            .once('connect', () => over(true))
            .once('error', () => over(false))
        : openTunnel(reach.proxy, end, (error) => over(error === undefined))
    socket.setTimeout(timeoutMs)
    socket.once('timeout', () => over(false))
  })
}
