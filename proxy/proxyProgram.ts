import type { Logger } from 'pino'
import { unknownVariables } from '../contract/schemas/environment.ts'
import { newId } from '../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../contract/wire/redis.ts'
import { provideJournalFolders } from './admission/journal/journalFolders.ts'
import { RpcClient } from './bus/rpcClient.ts'
import { type ProxyConfig, readConfig } from './config.ts'
import { type Limits, readLimits } from './limits.ts'
import { logEvent } from './logEvents.ts'
import type { StartWorker } from './supervisor/forkWorker.ts'
import { JournalReplays } from './supervisor/journalReplays.ts'
import { metricsServer } from './supervisor/metricsServer.ts'
import { WorkerProcesses } from './supervisor/workerProcesses.ts'

export interface ProxyProgramParts {
  readonly environment: NodeJS.ProcessEnv
  readonly log: Logger
  readonly startWorker: StartWorker
  /** The program has ended with this status. */
  readonly onEnd: (status: number) => void
}

/** The program of the proxy's main process, from its environment to its end. */
export class ProxyProgram {
  readonly config: ProxyConfig
  private readonly limits: Limits
  private readonly parts: ProxyProgramParts
  private readonly workers: WorkerProcesses
  private readonly connections: readonly Redis[]
  private readonly rpc: RpcClient
  private readonly replays: JournalReplays
  private readonly metrics: ReturnType<typeof metricsServer>
  private stopping = false

  /** @throws Error naming the variable that is not usable */
  constructor(parts: ProxyProgramParts) {
    const { environment, log, startWorker } = parts
    this.parts = parts
    const config = readConfig(environment)
    const limits = readLimits(environment['SLUICE_LIMITS'])
    this.config = config
    this.limits = limits
    log.level = config.logLevel
    for (const problem of unknownVariables(environment)) logEvent(log, 'configuration_variable_unknown', { problem })
    const onEnded = () => this.replays.lookNow()
    this.workers = new WorkerProcesses({ config, limits, log, environment, startWorker, onEnded })
    const redis = connectRedis(config.redisUrl, 'wait')
    const subscriber = connectRedis(config.redisUrl, 'wait')
    this.connections = [redis, subscriber]
    for (const connection of this.connections) {
      connection.on('error', (error) => logEvent(log, 'supervisor_redis_connection_failed', { err: error }))
    }
    this.rpc = new RpcClient({ commands: redis, subscriber, owner: newId('own'), busKeys: config.busKeys, limits })
    const living = () => this.workers.owners
    this.replays = new JournalReplays({ config, redis, rpc: this.rpc, limits, log, living })
    this.metrics = metricsServer(this.workers, config.metricsToken, limits)
  }

  /** Brings everything up. @returns the ports; undefined where the program has ended */
  async start(): Promise<{ readonly port: number; readonly metricsPort: number } | undefined> {
    const { config, workers } = this
    const { log, onEnd } = this.parts
    try {
      await provideJournalFolders(config)
      this.rpc.start().then(
        () => this.replays.start(),
        (error: unknown) => {
          if (!this.stopping) logEvent(log, 'journal_replay_disabled', { err: error })
        },
      )
      const metricsPort = await this.metrics.listen({ host: config.metricsHost, port: config.metricsPort })
      const port = await workers.start()
      logEvent(log, 'proxy_ready', { port, metricsPort, workers: config.workers })
      return { port, metricsPort }
    } catch (error) {
      logEvent(log, 'startup_failed', { err: error })
      onEnd(1)
      return undefined
    }
  }

  /** Ends the program. A user at the terminal does not wait for load balancers. */
  stop(): Promise<void> {
    return this.end(0)
  }

  /** Ends the program, and gives load balancers time to notice. */
  leave(): Promise<void> {
    return this.end(this.limits.leaveNoticeMs)
  }

  reopenLogs(): void {
    this.workers.reopenLogs()
  }

  private async end(noticeMs: number): Promise<void> {
    if (this.stopping) return
    this.stopping = true
    await this.workers.stop(noticeMs)
    await this.replays.finish(this.limits.settleTimeoutMs)
    await this.metrics.close()
    this.rpc.stop()
    for (const connection of this.connections) connection.disconnect()
    this.parts.onEnd(0)
  }
}
