import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { connect, type NetConnectOpts } from 'node:net'
import { join } from 'node:path'
import type { LaunchLimits } from './limits.ts'
import { systemPackagesScript } from './paths.ts'
import { serverEnvironment } from './process/childEnvironment.ts'
import { freePort } from './process/freePort.ts'
import { stopLeftover } from './process/leftover.ts'
import { ManagedProcess } from './process/managedProcess.ts'

const PROBE_TIMEOUT_MS = 1_000
const PORT_ATTEMPTS = 5

/** A Redis server of our own: its data directory, address and process. */
export interface RedisServer {
  readonly url: string
  readonly process: ManagedProcess
}

export interface RedisOptions {
  /** Holds the append-only file; made when missing. */
  readonly dir: string
  readonly logFile: string
  /** Path of a Unix domain socket, only for this user; Redis then has no port. By default it listens on a port. */
  readonly socket?: string
  readonly limits: LaunchLimits
  /** The program to run, as `findRedis` has found it; searched for when absent. */
  readonly program?: string | undefined
}

/**
 * Starts Redis (or Valkey) with an append-only file, on a socket or on a free port of the loopback address.
 * @throws Error that says what to install, or why it did not start
 */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const program = options.program ?? findRedis()
  mkdirSync(options.dir, { recursive: true, mode: 0o700 })
  await stopLeftover(join(options.dir, 'redis.pid'), /(redis|valkey)-server/, 'SIGTERM', options.limits)
  if (options.socket !== undefined) {
    const listen = { port: '0', unixsocket: options.socket, unixsocketperm: '700' }
    const server = redisProcess(program, options, listen, { path: options.socket })
    await server.start()
    return { url: `unix://${options.socket}`, process: server }
  }
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const listen = { port: String(port), bind: '127.0.0.1' }
    const server = redisProcess(program, options, listen, { host: '127.0.0.1', port })
    try {
      await server.start()
      return { url: `redis://127.0.0.1:${port}`, process: server }
    } catch (error) {
      // Another process may have taken the port since it was found free.
      const message = error instanceof Error ? error.message : String(error)
      if (attempt === PORT_ATTEMPTS || !/Address already in use/i.test(message)) throw error
    }
  }
}

/**
 * The program of Redis (or Valkey) on this machine; installs it if it is missing and that is possible.
 * @throws Error that says what to install
 */
export function findRedis(): string {
  const done = spawnSync(process.execPath, [systemPackagesScript, 'redis'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (done.status === 0) return done.stdout.trim()
  throw new Error(`${done.stderr.trim()}\nOr set REDIS_URL to a Redis that runs elsewhere.`)
}

function redisProcess(
  program: string,
  options: RedisOptions,
  listen: Readonly<Record<string, string>>,
  address: NetConnectOpts,
): ManagedProcess {
  const settings = {
    ...listen,
    dir: options.dir,
    pidfile: join(options.dir, 'redis.pid'),
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
  }
  return new ManagedProcess({
    name: 'Redis',
    command: program,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    env: serverEnvironment(process.env),
    logFile: options.logFile,
    probe: () => answersPing(address),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: options.limits.shutdownTimeoutMs,
    limits: options.limits,
  })
}

/** Whether Redis answers PING; while it loads its file it answers an error. */
function answersPing(address: NetConnectOpts): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(address)
    const finish = (answer: boolean) => {
      socket.destroy()
      resolve(answer)
    }
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish(false))
    socket.once('connect', () => socket.write('PING\r\n'))
    socket.once('data', (data) => finish(data.toString('latin1').startsWith('+PONG')))
    socket.once('error', () => finish(false))
    socket.once('close', () => finish(false))
  })
}
