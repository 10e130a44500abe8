import { connect } from 'node:net'
import type { Catalog } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { Limits } from '../../limits.ts'
import type { RouteHealth } from '../routeHealth.ts'

export interface RouteProbesOptions {
  readonly catalog: () => Catalog | null
  readonly health: Pick<RouteHealth, 'failed'>
  readonly limits: Pick<Limits, 'routeProbeMs' | 'routeProbeRetryMs' | 'routeProbeTimeoutMs'>
}

/**
 * Connects to every provider periodically, so that an outage is detected before a request fails. A failed probe counts for
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
      setInterval(() => this.probeAll((origin) => !this.unreachable.has(origin)), routeProbeMs).unref(),
      setInterval(() => this.probeAll((origin) => this.unreachable.has(origin)), routeProbeRetryMs).unref(),
    )
  }

  stop(): void {
    for (const timer of this.timers) clearInterval(timer)
  }

  private probeAll(isDue: (origin: string) => boolean): void {
    for (const [origin, routes] of enabledRoutes(this.options.catalog())) {
      if (isDue(origin)) void this.probe(origin, routes)
    }
  }

  private async probe(origin: string, routes: readonly Route[]): Promise<void> {
    if (await canConnect(origin, this.options.limits.routeProbeTimeoutMs)) {
      this.unreachable.delete(origin)
      return
    }
    this.unreachable.add(origin)
    for (const route of routes) this.options.health.failed(route.id, Date.now())
  }
}

/** The routes that requests may take, by the origin that they lead to. */
function enabledRoutes(catalog: Catalog | null): Map<string, Route[]> {
  const routes = [...(catalog?.models.values() ?? [])].flatMap((model) => model.enabledRoutes)
  const tools = [...(catalog?.tools.values() ?? [])].map(({ route }) => route).filter(({ enabled }) => enabled)
  const found = new Map<string, Route[]>()
  for (const route of new Map([...routes, ...tools].map((each) => [each.id, each])).values()) {
    const { origin } = route.provider
    found.set(origin, [...(found.get(origin) ?? []), route])
  }
  return found
}

/** Whether a TCP connection can be made in time. */
function canConnect(origin: string, timeoutMs: number): Promise<boolean> {
  const { protocol, hostname, port } = new URL(origin)
  const host = hostname.replace(/^\[(.*)\]$/, '$1')
  return new Promise((resolve) => {
    const socket = connect({ host, port: Number(port === '' ? DEFAULT_PORTS[protocol] : port) })
    socket.setTimeout(timeoutMs)
    const end = (isConnected: boolean) => {
      resolve(isConnected)
      socket.destroy()
    }
    socket.once('connect', () => end(true))
    socket.once('timeout', () => end(false))
    socket.once('error', () => end(false))
  })
}

const DEFAULT_PORTS: Readonly<Record<string, number>> = { 'http:': 80, 'https:': 443 }
