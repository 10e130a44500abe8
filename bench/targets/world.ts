import { availableParallelism } from 'node:os'
import { removeIdleGroup } from '../background.ts'
import type { BenchCase, TargetName } from '../cases.ts'
import type { Child } from '../child.ts'
import { startChild } from '../child.ts'
import { pinTo } from '../cpu.ts'
import type { LoadTarget } from '../load/options.ts'
import type { BenchResults, Machine } from '../results.ts'
import type { Measured } from '../runner.ts'
import { Runner } from '../runner.ts'
import type { Settings } from '../settings.ts'
import { startHaproxy } from './haproxy.ts'
import { startNginx } from './nginx.ts'
import { startPortkey } from './portkey.ts'
import { type ProviderPorts, startProviders } from './provider.ts'
import type { Stack, StackProxy } from './stack.ts'
import { startStack } from './stack.ts'

/** Keys in rotation, over few accounts. */
export const FEW_ACCOUNTS = 10
export const ROTATED_KEYS = 1_000
const PATH = '/v1/chat/completions'

/** The cores of the measured processes and of the others; null if processes cannot be pinned. */
export type Cores = BenchResults['pinned']

/** Everything that takes part in a run. */
export interface World {
  readonly ports: ProviderPorts
  readonly cores: Cores
  readonly runner: Runner
  /** In the order of a round. */
  readonly measured: readonly Measured[]
  /** Sluice, unless it is left out. */
  readonly stack: Stack | undefined
  readonly versions: Machine['gateways']
}

/**
 * Starts the mock provider, the load generator and every target, each on its core.
 * @param stops receives the functions that end them, in the order of their start
 */
export async function startWorld(settings: Settings, stops: (() => Promise<void>)[]): Promise<World> {
  const keep = <Part extends { stop(): Promise<void> }>(part: Part): Part => {
    stops.push(() => part.stop())
    return part
  }
  stops.push(removeIdleGroup)
  const { plain, tls, ...ports } = await startProviders(stops)
  const load = keep(await startChild('load/main.js', []))
  const cores = pinSupport([plain, tls], load)
  const runner = new Runner(load)
  const measured: Measured[] = [measuredAt('direct', ports.providerPort, [plain.pid])]
  const versions: Machine['gateways'] = {}
  const starts = (name: TargetName) => settings.targets.includes(name)
  if (starts('nginx')) {
    const nginx = keep(await startNginx(ports))
    versions.nginx = nginx.version
    pinMeasured([nginx.pid, nginx.workerPid], cores)
    measured.push({ ...measuredAt('nginx', nginx.port, [nginx.workerPid]), tlsPort: nginx.tlsPort })
  }
  if (starts('haproxy')) {
    const haproxy = keep(await startHaproxy(ports))
    versions.haproxy = haproxy.version
    pinMeasured([haproxy.pid], cores)
    measured.push({ ...measuredAt('haproxy', haproxy.port, [haproxy.pid]), tlsPort: haproxy.tlsPort })
  }
  if (starts('bare')) {
    const bare = keep(await startBare(ports))
    pinMeasured([bare.pid], cores)
    const { port = 0, tlsPort = 0 } = bare.ready
    measured.push({ ...measuredAt('bare', port, [bare.pid]), tlsPort })
  }
  if (starts('portkey')) {
    const portkey = keep(await startPortkey(ports.providerPort))
    versions.portkey = portkey.version
    pinMeasured([portkey.pid], cores)
    measured.push(measuredAt('portkey', portkey.port, [portkey.pid], { headers: portkey.headers }))
  }
  let stack: Stack | undefined
  if (starts('sluice') || starts('proxy-only')) {
    const accounts = { accounts: FEW_ACCOUNTS, keysPerAccount: ROTATED_KEYS / FEW_ACCOUNTS }
    stack = await startStack({ ...ports, ...accounts, proxyOnly: starts('proxy-only') }, stops)
    pinStack(stack, cores)
    runner.add(stack)
    measured.push(sluiceMeasured(stack, stack.proxy))
    if (stack.proxyOnly !== undefined) measured.push(proxyOnlyMeasured(stack, stack.proxyOnly))
  }
  const inOrder = settings.targets.flatMap((name) => measured.filter((one) => one.name === name))
  return { ports, cores, runner, measured: inOrder, stack, versions }
}

/** The metered gateway of a stack. */
export function sluiceMeasured(stack: Stack, proxy: StackProxy): Measured {
  const target = { name: 'sluice', host: '127.0.0.1', port: proxy.port, path: PATH }
  const authorization = `Bearer ${stack.apiKey}`
  return { name: 'sluice', target: { ...target, authorization }, pids: proxy.pids, stack, hasCatalog: true }
}

function proxyOnlyMeasured(stack: Stack, proxy: StackProxy): Measured {
  const { target } = sluiceMeasured(stack, proxy)
  return { name: 'proxy-only', target: { ...target, name: 'proxy-only' }, pids: proxy.pids, hasCatalog: true }
}

function measuredAt(name: TargetName, port: number, pids: number[], more: Partial<LoadTarget> = {}): Measured {
  return { name, target: { name, host: '127.0.0.1', port, path: PATH, ...more }, pids, hasCatalog: false }
}

/** The name by which a target knows the model of a case. */
export function modelOf(kind: BenchCase, one: Measured): string {
  return one.hasCatalog ? kind.publicModel : kind.upstreamModel
}

/** Pins the gateway of a stack to the measured core, and all other processes of the stack off that core. */
export function pinStack(stack: Stack, cores: Cores): void {
  if (cores === null) return
  pinMeasured([...stack.proxy.pids, ...(stack.proxyOnly?.pids ?? [])], cores)
  for (const pid of [stack.redisPid, ...stack.backgroundPids()]) pinTo(cores.others, pid)
}

function pinMeasured(pids: readonly number[], cores: Cores): void {
  if (cores !== null) for (const pid of pids) pinTo(cores.measured, pid)
}

function startBare({ providerPort, providerTlsPort, providerCertFile }: ProviderPorts): Promise<Child> {
  const args = ['--upstream', String(providerPort), '--tls-upstream', String(providerTlsPort)]
  return startChild('bare.js', args, { NODE_EXTRA_CA_CERTS: providerCertFile })
}

function pinSupport(providers: readonly Child[], load: Child): Cores {
  const last = availableParallelism() - 1
  if (last < 1) return null
  const cores = { measured: 0, provider: 1, load: Math.min(2, last), others: last }
  const pinned = providers.every(({ pid }) => pinTo(cores.provider, pid)) && pinTo(cores.load, load.pid)
  return pinned ? cores : null
}
