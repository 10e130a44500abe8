import { spawnSync } from 'node:child_process'
import { mkdirSync } from 'node:fs'
import { connect } from 'node:net'
import { join } from 'node:path'
import { limits } from '../contract/limits.ts'
import { freePort } from './freePort.ts'
import { stopLeftover } from './leftover.ts'
import { ManagedProcess } from './managedProcess.ts'
import { systemPackagesScript } from './paths.ts'

const PROBE_TIMEOUT_MS = 1_000
const PORT_ATTEMPTS = 5

/** A Redis server of our own: its data directory, address and process. */
export interface RedisServer {
  readonly url: string
  readonly port: number
  readonly process: ManagedProcess
}

export interface RedisOptions {
  /** Holds the append-only file; made when missing. */
  readonly dir: string
  readonly logFile: string
  /** Path of a Unix domain socket to be reached by, of at most 107 bytes; by default it is reached by its port. */
  readonly socket?: string
}

/**
 * Starts Redis (or Valkey) with an append-only file, on a free port of this machine alone.
 * @throws Error that says what to install, or why it did not start
 */
export async function startRedis(options: RedisOptions): Promise<RedisServer> {
  const program = findRedis()
  mkdirSync(options.dir, { recursive: true })
  await stopLeftover(join(options.dir, 'redis.pid'), /(redis|valkey)-server/, 'SIGTERM')
  for (let attempt = 1; ; attempt++) {
    const port = await freePort()
    const server = redisProcess(program, options, port)
    try {
      await server.start()
      const url = options.socket === undefined ? `redis://127.0.0.1:${port}` : `unix://${options.socket}`
      return { url, port, process: server }
    } catch (error) {
      // Another process may have taken the port since it was found free.
      const message = error instanceof Error ? error.message : String(error)
      if (attempt === PORT_ATTEMPTS || !/Address already in use/i.test(message)) throw error
    }
  }
}

function findRedis(): string {
  const done = spawnSync(process.execPath, [systemPackagesScript, 'redis'], {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  if (done.status === 0) return done.stdout.trim()
  throw new Error(`${done.stderr.trim()}\nOr set REDIS_URL to a Redis that runs elsewhere.`)
}

function redisProcess(program: string, options: RedisOptions, port: number): ManagedProcess {
  const settings = {
    port: String(port),
    bind: '127.0.0.1',
    dir: options.dir,
    pidfile: join(options.dir, 'redis.pid'),
    appendonly: 'yes',
    appendfsync: 'everysec',
    save: '',
    'maxmemory-policy': 'noeviction',
    ...(options.socket !== undefined && { unixsocket: options.socket }),
  }
  return new ManagedProcess({
    name: 'Redis',
    command: program,
    args: Object.entries(settings).flatMap(([name, value]) => [`--${name}`, value]),
    logFile: options.logFile,
    probe: () => answersPing(port),
    stopSignal: 'SIGTERM',
    stopTimeoutMs: limits.shutdownTimeoutMs,
  })
}

/** Whether Redis answers PING; while it loads its file it answers an error. */
function answersPing(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1')
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
