import { isAbsolute, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { compiled } from '../../control/launch/paths.ts'
import { freePort } from '../../control/launch/process/freePort.ts'
import { ManagedProcess, type ProcessDefinition } from '../../control/launch/process/managedProcess.ts'
import { limits } from './limits.ts'
import { TEST_FLAGS } from './nodeFlags.ts'
import { canBeWarm, WarmProcess } from './warm/warmProcess.ts'

const STOP_TIMEOUT_MS = 60_000
const START_ATTEMPTS = 3
// Reading source maps takes a tenth of what a program takes to start; the logs are of use only where they are kept.
const SOURCE_MAPS = process.env['SLUICE_TEST_KEEP'] === '1' ? ['--enable-source-maps'] : []
const NODE_FLAGS = [...SOURCE_MAPS, ...TEST_FLAGS]
const LOCK_WATCH = `--import=${pathToFileURL(compiled('test/support/lockWatch.js')).href}`

/** One compiled program of a stack. After a restart it has the ports it had before. */
export class TestProcess {
  private readonly process: ManagedProcess | WarmProcess
  private ports: Readonly<Record<string, number>> = {}

  /** @param program compiled next to this one, or the path of one of another checkout */
  constructor(name: string, program: string, args: readonly string[], dir: string, env: NodeJS.ProcessEnv) {
    const isWatched = !isAbsolute(program) && !/^(?:proxy|mock)\//.test(program)
    const path = isAbsolute(program) ? program : compiled(program)
    const definition: ProcessDefinition = {
      name,
      command: process.execPath,
      args: [...NODE_FLAGS, ...(isWatched ? [LOCK_WATCH] : []), path, ...args],
      env: { ...process.env, LOG_LEVEL: 'info', ...env },
      logFile: join(dir, `${name}.log`),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: STOP_TIMEOUT_MS,
      limits,
    }
    this.process = canBeWarm(program, args, env) ? new WarmProcess(program, definition) : new ManagedProcess(definition)
  }

  get port(): number {
    return this.ports['port'] ?? 0
  }

  get metricsPort(): number {
    return this.ports['metricsPort'] ?? 0
  }

  get pid(): number | undefined {
    return this.process.pid
  }

  async start(): Promise<void> {
    const known = this.port !== 0
    for (let attempt = 1; ; attempt++) {
      // A port that the system chose itself cannot be taken again while closed connections to it linger.
      const port = known ? this.port : await freePort()
      try {
        await this.process.start({ PORT: String(port) })
        this.ports = this.process.ready
        return
      } catch (error) {
        // Another test may have taken the port since it was found free.
        if (known || attempt === START_ATTEMPTS || !/cannot listen|in use/.test(String(error))) throw error
      }
    }
  }

  /** Ends the process as a crash would. */
  kill9(): Promise<void> {
    return this.process.kill9()
  }

  /** Sends SIGTERM and waits for the end. Returns the exit code; null when it had to be killed. */
  async sigterm(): Promise<number | null> {
    await this.process.stop()
    return this.process.lastExit?.code ?? null
  }

  /** Stops another process and starts in its place, at its ports. */
  async replace(other: TestProcess): Promise<void> {
    await other.stop()
    this.ports = other.ports
    await this.start()
  }

  /** Starts the process again, after stopping it when it runs. */
  async restart(): Promise<void> {
    await this.process.stop()
    await this.start()
  }

  stop(): Promise<void> {
    return this.process.stop()
  }
}
