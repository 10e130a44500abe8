import { spawnSync } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chownSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import pg from 'pg'
import type { LaunchLimits } from './limits.ts'
import { clusterFolder, postgresFolder, postgresUser } from './postgresFiles.ts'
import { serverEnvironment } from './process/childEnvironment.ts'
import { freePort } from './process/freePort.ts'
import { stopLeftover } from './process/leftover.ts'
import { ManagedProcess, type RunAs } from './process/managedProcess.ts'

const START_ATTEMPTS = 40
const START_RETRY_MS = 250
const CONNECT_TIMEOUT_MS = 2_000
// After a crash, the backends that are still ending keep the shared memory; a port may be taken meanwhile.
const PASSING_FAULT = /shared memory block|lock file|Address already in use|could not bind/i

export interface PostgresOptions {
  /** Holds the cluster; made and filled when missing. */
  readonly dir: string
  readonly logFile: string
  /** Settings in addition to the defaults, such as { fsync: 'off' } for a cluster that a test throws away. */
  readonly settings?: Readonly<Record<string, string>>
  /** Lets this process end while the server runs; the server is stopped then. */
  readonly unref?: boolean
  readonly limits: LaunchLimits
}

/** A PostgreSQL server of our own. */
export class PostgresServer {
  readonly process: ManagedProcess
  readonly port: number
  /** Where the cluster is; not always the folder that was asked for. */
  readonly dir: string
  private readonly password: string

  constructor(server: ManagedProcess, port: number, dir: string, password: string) {
    this.process = server
    this.port = port
    this.dir = dir
    this.password = password
  }

  get passwordFile(): string {
    return passwordFileOf(this.dir)
  }

  /** The address of one database. */
  url(database: string): string {
    return `postgres://postgres:${this.password}@127.0.0.1:${this.port}/${database}`
  }

  /** Makes a database if it is missing and returns its address. */
  async provideDatabase(database: string): Promise<string> {
    await createDatabase(this.url('postgres'), database)
    return this.url(database)
  }

  /** Starts the server again at the same address, after `process.stop()` or `process.kill9()`. */
  async startAgain(): Promise<void> {
    for (let attempt = 1; ; attempt++) {
      try {
        return await this.process.start()
      } catch (error) {
        const message = error instanceof Error ? error.message : String(error)
        if (attempt === START_ATTEMPTS || !PASSING_FAULT.test(message)) throw error
        await sleep(START_RETRY_MS)
      }
    }
  }
}

/**
 * Makes a database unless it exists.
 * @param url address of another database of the same server, with the right to create databases
 */
export async function createDatabase(url: string, database: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    const found = await client.query('SELECT 1 FROM pg_database WHERE datname = $1', [database])
    if (found.rowCount === 0) await client.query(`CREATE DATABASE ${client.escapeIdentifier(database)}`)
  } finally {
    await client.end()
  }
}

/**
 * Starts PostgreSQL on a free port of the loopback address. The cluster and its password stay in `dir` across runs.
 * @throws Error that says why it did not start
 */
export async function startPostgres(options: PostgresOptions): Promise<PostgresServer> {
  const runAs = postgresUser()
  const folder = await postgresFolder(runAs)
  const dir = clusterFolder(options.dir, runAs)
  const password = ensureCluster(folder, dir, runAs)
  await stopLeftover(join(dir, 'postmaster.pid'), /postgres/, 'SIGINT', options.limits)
  const port = await freePort()
  const url = `postgres://postgres:${password}@127.0.0.1:${port}/postgres`
  const server = new ManagedProcess({
    name: 'PostgreSQL',
    command: join(folder, 'bin/postgres'),
    args: ['-D', dir, ...settingArguments(port, options.settings)],
    env: serverEnvironment(process.env),
    logFile: options.logFile,
    runAs,
    unref: options.unref === true,
    probe: () => answers(url),
    // SIGINT is PostgreSQL's fast shutdown: clients are cut, the checkpoint is written.
    stopSignal: 'SIGINT',
    stopTimeoutMs: options.limits.shutdownTimeoutMs * 2,
    limits: options.limits,
  })
  const postgres = new PostgresServer(server, port, dir, password)
  await postgres.startAgain()
  return postgres
}

function settingArguments(port: number, changes: Readonly<Record<string, string>> = {}): string[] {
  const settings = {
    port: String(port),
    listen_addresses: '127.0.0.1',
    unix_socket_directories: '',
    max_connections: '200',
    shared_buffers: '128MB',
    max_wal_size: '1GB',
    log_min_messages: 'warning',
    ...changes,
  }
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`])
}

function passwordFileOf(dir: string): string {
  return `${dir}.password`
}

/** Makes the cluster if it does not exist yet. Returns its password. */
function ensureCluster(folder: string, dir: string, runAs: RunAs | undefined): string {
  const passwordFile = passwordFileOf(dir)
  if (existsSync(join(dir, 'PG_VERSION'))) {
    if (existsSync(passwordFile)) return readFileSync(passwordFile, 'utf8').trim()
    throw new Error(`${passwordFile} is missing; put it back, or move ${dir} away to begin with an empty book`)
  }
  // Made under another name and renamed when complete, so that a crash does not leave an incomplete cluster.
  const unfinished = `${dir}.new`
  rmSync(unfinished, { recursive: true, force: true })
  mkdirSync(unfinished, { recursive: true, mode: 0o700 })
  const password = randomBytes(24).toString('base64url')
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 })
  if (runAs !== undefined) for (const path of [unfinished, passwordFile]) chownSync(path, runAs.uid, runAs.gid)
  const flags = ['--auth=scram-sha-256', '--username=postgres', '--encoding=UTF8', '--locale=C']
  const done = spawnSync(join(folder, 'bin/initdb'), ['-D', unfinished, `--pwfile=${passwordFile}`, ...flags], {
    ...runAs,
    encoding: 'utf8',
    env: { ...serverEnvironment(process.env), LC_ALL: 'C' },
  })
  if (done.status !== 0) {
    rmSync(unfinished, { recursive: true, force: true })
    throw new Error(
      `PostgreSQL could not make its cluster in ${dir}:\n${done.error?.message ?? ''}${done.stderr ?? ''}`,
    )
  }
  renameSync(unfinished, dir)
  return password
}

async function answers(url: string): Promise<boolean> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: CONNECT_TIMEOUT_MS })
  client.on('error', () => {})
  try {
    await client.connect()
    await client.query('SELECT 1')
    return true
  } catch {
    return false
  } finally {
    await client.end().catch(() => {})
  }
}
