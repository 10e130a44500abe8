import { connect } from 'node:net'
import { join } from 'node:path'
import { freePort } from '../../../control/launch/process/freePort.ts'
import { ManagedProcess } from '../../../control/launch/process/managedProcess.ts'
import { findRedis } from '../../../control/launch/redis.ts'
import { limits } from '../limits.ts'
import { makeTempDir, removeTempDir } from '../tempDir.ts'

const PROBE_TIMEOUT_MS = 1_000

let program: string | undefined

/** The redis-server or valkey-server that tests run. */
function redisProgram(): string {
  program ??= process.env['SLUICE_TEST_REDIS'] ?? findRedis()
  return program
}

export interface RedisProcessOptions {
  readonly port: number
  readonly settings: Readonly<Record<string, string | number>>
  /** A Sentinel, whose configuration is this file. */
  readonly sentinel?: string
  /** Another program than the one that other tests run. */
  readonly program?: string
}

/** One server of an arrangement of several, with a folder of its own, which outlives a kill. */
export class RedisProcess {
  readonly port: number
  readonly dir: string
  private readonly managed: ManagedProcess

  /** @param dir as `makeTempDir` made it */
  constructor(dir: string, options: RedisProcessOptions) {
    this.port = options.port
    this.dir = dir
    const settings = { bind: '127.0.0.1', dir, pidfile: join(dir, 'redis.pid'), ...options.settings }
    const args = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)])
    const { sentinel } = options
    this.managed = new ManagedProcess({
      name: 'Redis',
      command: options.program ?? redisProgram(),
      args: sentinel === undefined ? args : [sentinel, '--sentinel', ...args],
      env: process.env,
      logFile: join(dir, 'redis.log'),
      probe: () => answersPing(options.port),
      stopSignal: 'SIGTERM',
      stopTimeoutMs: 5_000,
      limits,
    })
  }

  get pid(): number | undefined {
    return this.managed.pid
  }

  start(): Promise<void> {
    return this.managed.start()
  }

  kill9(): Promise<void> {
    return this.managed.kill9()
  }

  /** Stops it and removes its data. */
  async stop(): Promise<void> {
    await this.managed.stop()
    removeTempDir(this.dir)
  }
}

/** @param settings of the server as on its command line, without the dashes */
export function newRedisProcess(options: RedisProcessOptions): RedisProcess {
  return new RedisProcess(makeTempDir('redis'), options)
}

/** Starts a server that can have replicas or be one. @param settings beside those */
export async function startReplicated(settings: Readonly<Record<string, string>>): Promise<RedisProcess> {
  const port = await freePort()
  const more = { appendonly: 'yes', save: '', 'repl-diskless-sync-delay': 0 }
  const server = newRedisProcess({ port, settings: { port, ...more, ...settings } })
  await server.start()
  return server
}

function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ host: '127.0.0.1', port })
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish(false))
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (data) => finish(/^(\+PONG|-NOAUTH)/.test(data.toString('latin1'))))
    socket.once('error', () => finish(false))
    socket.once('close', () => finish(false))
  })
}
