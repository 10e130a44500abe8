import { chmodSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import type { ContractLimits } from '../../contract/limits/limits.ts'
import { workerStopMaxMs } from '../../contract/limits/stopTime.ts'
import { readCatalogFile } from '../catalog/pricing/catalogFile.ts'
import { provideBusKey } from './busKey.ts'
import { provideCatalogKey } from './catalogKey.ts'
import { AnvilMissing } from './chain/anvil.ts'
import { type DemoChain, type DemoPayer, startDemoChain } from './chain/demoChain.ts'
import { type DemoAccount, provideDemoAccount } from './demoAccount.ts'
import { chooseCatalog } from './demoCatalog.ts'
import { keepRunning } from './keepRunning.ts'
import type { LaunchLimits } from './limits.ts'
import { provideLogKey } from './logKey.ts'
import { OutageFilter } from './outage.ts'
import { compiled } from './paths.ts'
import { startPostgres } from './postgres.ts'
import { letPostgresEnter } from './postgresFiles.ts'
import {
  commandEnvironment,
  controlEnvironment,
  proxyEnvironment,
  serverEnvironment,
} from './process/childEnvironment.ts'
import { freePort } from './process/freePort.ts'
import { rotateLog } from './process/logFile.ts'
import { ManagedProcess } from './process/managedProcess.ts'
import { startRedis } from './redis.ts'
import { reachableHost, type Settings } from './settings.ts'
import { type SocketPlace, socketPlace } from './socketPlace.ts'
import { waitReady } from './waitReady.ts'
import { warningOf } from './warningText.ts'

/** How long a program may take to stop: more than the proxy, the slowest of them, gives its workers. */
export const programStopTimeoutMs = (limits: ContractLimits): number => workerStopMaxMs(limits) + 2_000
const READY_TIMEOUT_MS = 15_000

export interface RunningStack {
  readonly baseUrl: string
  readonly metricsUrl: string
  readonly controlMetricsUrl: string
  readonly models: readonly string[]
  readonly account: DemoAccount
  readonly isDemo: boolean
  /** The file of the catalog that the models come from. */
  readonly catalogPath: string
  /** A wallet with test tokens on the demo's own chain; undefined without that chain. */
  readonly payer: DemoPayer | undefined
}

/** Everything that `make run` starts, in order; it is stopped in the opposite order. */
export class StackRunner {
  private readonly settings: Settings
  private readonly show: (text: string) => void
  private readonly started: ManagedProcess[] = []
  /** The programs of the gateway among `started`; the others are servers that keep data. */
  private readonly programs: ManagedProcess[] = []
  private readonly outages: OutageFilter[] = []
  private readonly watches: Array<() => void> = []
  private redisSocket: SocketPlace | undefined
  private stopped = false
  private readonly limits: LaunchLimits

  /** @param show prints a line on the terminal */
  constructor(settings: Settings, show: (text: string) => void, limits: LaunchLimits) {
    this.limits = limits
    this.settings = settings
    this.show = show
  }

  /** Starts all parts and resolves when requests are served. Rejects when a part does not start. */
  async start(): Promise<RunningStack> {
    const { dataDir, host, port } = this.settings
    const databaseUrl = this.settings.databaseUrl ?? (await this.startDatabase())
    const redisUrl = this.settings.redisUrl ?? (await this.startCache())
    const catalog = await chooseCatalog(this.settings, process.env)
    const chain = catalog.providerPort === undefined ? undefined : await this.startChain()
    this.writePrivate('run.json', {
      database_url: databaseUrl,
      redis_url: redisUrl,
      catalog: catalog.path,
      chain_rpc_url: chain?.node.rpcUrl ?? process.env['CHAIN_RPC_URL'],
    })
    const env = {
      ...process.env,
      DATABASE_URL: databaseUrl,
      REDIS_URL: redisUrl,
      SLUICE_BUS_KEY: process.env['SLUICE_BUS_KEY'] || provideBusKey(dataDir),
      SLUICE_LOG_KEY: process.env['SLUICE_LOG_KEY'] || provideLogKey(dataDir),
      SLUICE_CATALOG_KEY: process.env['SLUICE_CATALOG_KEY'] || provideCatalogKey(dataDir),
      SLUICE_CATALOG: catalog.path,
      SLUICE_DATA: dataDir,
    }
    if (catalog.providerPort !== undefined) {
      const args = ['--port', String(catalog.providerPort)]
      await this.startProgram('provider', 'mock/main.js', args, serverEnvironment(env))
    }
    const named = await readCatalogFile(catalog.path)
    const controlEnv = {
      ...env,
      ...chain?.env,
      SLUICE_CONTROL_METRICS_PORT: await metricsPortOf('SLUICE_CONTROL_METRICS_PORT'),
    }
    const control = await this.startProgram('control', 'control/main.js', [], controlEnvironment(controlEnv, named))
    const proxyEnv = {
      ...env,
      HOST: host,
      PORT: String(port),
      SLUICE_METRICS_PORT: await metricsPortOf('SLUICE_METRICS_PORT'),
    }
    const proxy = await this.startProgram('proxy', 'proxy/main.js', [], proxyEnvironment(proxyEnv, named))
    const baseUrl = `http://${reachableHost(host)}:${proxy.ready['port'] ?? port}`
    const [metricsUrl, controlMetricsUrl] = [proxy, control].map(metricsUrlOf) as [string, string]
    const trouble = await waitReady(baseUrl, READY_TIMEOUT_MS)
    if (trouble !== undefined) this.show(`the proxy is not ready yet: ${trouble}`)
    const isDemo = catalog.providerPort !== undefined
    const commandEnv = commandEnvironment(env)
    const account = await provideDemoAccount(join(dataDir, 'demo.json'), baseUrl, commandEnv, !isDemo)
    const models = await listModels(baseUrl, account.api_key)
    const metrics = { metrics_url: metricsUrl, control_metrics_url: controlMetricsUrl }
    const paying = chain === undefined ? {} : { chain_rpc_url: chain.node.rpcUrl, payer: chain.payer }
    this.writePrivate('demo.json', { base_url: baseUrl, ...account, models, ...metrics, ...paying })
    const catalogPath = catalog.path
    return { baseUrl, metricsUrl, controlMetricsUrl, models, account, isDemo, catalogPath, payer: chain?.payer }
  }

  /** Stops everything that was started, the proxy first, so that running streams can end. */
  async stop(): Promise<void> {
    this.stopped = true
    for (const endWatch of this.watches) endWatch()
    for (const outage of this.outages) outage.stop()
    for (const process of this.started.toReversed()) await process.stop()
    // It has the addresses of the running parts.
    rmSync(join(this.settings.dataDir, 'run.json'), { force: true })
    this.redisSocket?.remove()
  }

  /**
   * Ends the programs immediately; a running `stop` then has only the servers left. Their open holds are voided at the next
   * start, as after a crash.
   */
  async cut(): Promise<void> {
    await Promise.all(this.programs.map((program) => program.cut()))
  }

  private async startDatabase(): Promise<string> {
    letPostgresEnter(this.settings.dataDir)
    const postgres = await startPostgres({
      dir: join(this.settings.dataDir, 'postgres'),
      logFile: this.logFile('postgres'),
      limits: this.limits,
    })
    this.keep(postgres.process, () => postgres.startAgain())
    return postgres.provideDatabase('sluice')
  }

  private async startCache(): Promise<string> {
    const dir = join(this.settings.dataDir, 'redis')
    this.redisSocket = socketPlace(dir, 'redis.sock')
    const redis = await startRedis({
      dir,
      logFile: this.logFile('redis'),
      socket: this.redisSocket.path,
      limits: this.limits,
    })
    this.keep(redis.process, () => redis.process.start())
    return redis.url
  }

  /** A chain of its own for the demo, whose tokens are worth nothing; undefined where the operator has named one. */
  private async startChain(): Promise<DemoChain | undefined> {
    if (process.env['CHAIN_RPC_URL'] || process.env['SLUICE_PAYMENTS'] || this.settings.databaseUrl !== undefined)
      return
    const chain = await startDemoChain(this.settings.dataDir, this.logFile('chain'), this.limits).catch(
      (error: unknown) => {
        if (!(error instanceof AnvilMissing)) throw error
        this.show(`Payments are off: ${error.message}.`)
        return undefined
      },
    )
    if (chain === undefined) return
    this.keep(chain.node.process, () => chain.node.start())
    return chain
  }

  private async startProgram(
    name: string,
    program: string,
    args: readonly string[],
    env: NodeJS.ProcessEnv,
  ): Promise<ManagedProcess> {
    if (this.stopped) throw new Error('stopped while starting')
    const outage = new OutageFilter((text) => this.showOf(name, text))
    this.outages.push(outage)
    const child = new ManagedProcess({
      name,
      command: process.execPath,
      args: ['--enable-source-maps', compiled(program), ...args],
      env,
      logFile: this.logFile(name),
      onLine: (line) => {
        const warning = warningOf(line)
        if (warning !== undefined) outage.take(warning)
      },
      // SIGTERM would have the proxy serve on for the notice of load balancers.
      stopSignal: 'SIGINT',
      stopTimeoutMs: programStopTimeoutMs(this.limits),
      limits: this.limits,
    })
    // Before it has started, so that a concurrent stop finds it.
    this.started.push(child)
    this.programs.push(child)
    await child.start()
    this.keep(child, () => child.start())
    return child
  }

  private keep(process: ManagedProcess, start: () => Promise<void>): void {
    if (!this.started.includes(process)) this.started.push(process)
    this.watches.push(keepRunning(process, start, this.show, this.limits))
  }

  private showOf(name: string, text: string): void {
    if (!this.stopped) this.show(`${name}: ${text}`)
  }

  private logFile(name: string): string {
    const path = join(this.settings.logDir, `${name}.log`)
    rotateLog(path)
    return path
  }

  private writePrivate(file: string, content: unknown): void {
    const path = join(this.settings.dataDir, file)
    writeFileSync(path, `${JSON.stringify(content, null, 2)}\n`, { mode: 0o600 })
    chmodSync(path, 0o600)
  }
}

/** The private port that the operator named, else one that the program keeps over a restart. */
async function metricsPortOf(variable: string): Promise<string> {
  return process.env[variable] || String(await freePort())
}

/** Metrics are served on the loopback address only, independent of HOST. */
function metricsUrlOf(program: ManagedProcess): string {
  return `http://127.0.0.1:${program.ready['metricsPort']}/metrics`
}

async function listModels(baseUrl: string, apiKey: string): Promise<string[]> {
  const response = await fetch(`${baseUrl}/v1/models`, { headers: { authorization: `Bearer ${apiKey}` } })
  const body = (await response.json()) as { data?: Array<{ id: string }> }
  return (body.data ?? []).map((model) => model.id)
}
