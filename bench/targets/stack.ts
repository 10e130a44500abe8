import { spawn } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { connectRedis } from '../../contract/wire/redis.ts'
import { ledgerStream, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { pipelineOf } from '../../contract/wire/redisShards.ts'
import { compiled } from '../../control/launch/paths.ts'
import type { PostgresServer } from '../../control/launch/postgres.ts'
import { startPostgres } from '../../control/launch/postgres.ts'
import { freePort } from '../../control/launch/process/freePort.ts'
import { ManagedProcess } from '../../control/launch/process/managedProcess.ts'
import { startRedis } from '../../control/launch/redis.ts'
import { migrate } from '../../control/runtime/db/migrate.ts'
import { createPool } from '../../control/runtime/db/pool.ts'
import { openAccounts } from '../accounts.ts'
import { catalogYaml } from '../catalog.ts'
import { descendants } from '../cpu.ts'
import { limits } from '../limits.ts'
import type { ProviderPorts } from './provider.ts'

const STOP_TIMEOUT_MS = 20_000
const DRAIN_TIMEOUT_MS = 180_000
const POLL_MS = 50
const CREDITS_USD = '1000000'
// Rate limits would reject the load of the benchmark, so they are lifted.
const LIMITS = JSON.stringify({ requestsPerMinute: 1_000_000_000, requestBurst: 100_000_000 })
// Lets the profiler in where a port is free, once the worker is sent SIGUSR1; until then it changes nothing.
const NODE_FLAGS = ['--inspect-port=0']

export interface StackOptions extends ProviderPorts {
  /** Accounts that are in the book from the start, in addition to the one with `apiKey`, and API keys of each. */
  readonly accounts: number
  readonly keysPerAccount: number
  /** Whether a second proxy runs that meters nothing. */
  readonly proxyOnly: boolean
  /** Workers of every proxy; one unless it says otherwise. */
  readonly workers?: number
  /** Environment variables of the proxy, beside those of every process. */
  readonly proxyEnv?: NodeJS.ProcessEnv
}

/** One proxy of a stack. */
export interface StackProxy {
  readonly port: number
  /** Every process of it. */
  readonly pids: readonly number[]
  readonly logFile: string
}

/** Sluice on real parts. */
export interface Stack {
  readonly proxy: StackProxy
  readonly proxyOnly: StackProxy | undefined
  /** A key of an account with credits. */
  readonly apiKey: string
  /** Writes `count` keys of the accounts that were there from the start into a file, one a line, and names it. */
  keysFile(count: number, from?: number): string
  readonly databaseUrl: string
  readonly redisPid: number
  /** Control and PostgreSQL with its backends, as they run now. */
  pids(): { control: number[]; postgres: number[] }
  backgroundPids(): number[]
  /** Waits until every ended request is booked. */
  booked(): Promise<void>
  /** Runs the operator's command line; resolves with its status and output. */
  cli(args: readonly string[]): Promise<{ status: number; output: string }>
}

/**
 * Starts PostgreSQL, Redis, control and proxy in a separate folder, in front of the mock provider.
 * @param stops receives the functions that end them, before the first of them runs
 */
export async function startStack(options: StackOptions, stops: (() => Promise<void>)[]): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  // PostgreSQL runs as another user when this is root.
  chmodSync(folder, 0o755)
  const parts: (() => Promise<void>)[] = []
  const stop = async () => {
    for (let end = parts.pop(); end !== undefined; end = parts.pop()) await end()
    rmSync(folder, { recursive: true, force: true })
  }
  stops.push(stop)
  return startIn(folder, options, parts)
}

async function startIn(folder: string, options: StackOptions, parts: (() => Promise<void>)[]): Promise<Stack> {
  const log = (name: string) => join(folder, `${name}.log`)
  const postgres = await startPostgres({ dir: join(folder, 'postgres'), logFile: log('postgres'), limits })
  parts.push(() => stopPostgres(postgres))
  const socket = join(folder, 'redis.sock')
  const redis = await startRedis({ dir: join(folder, 'redis'), logFile: log('redis'), socket, limits })
  parts.push(() => redis.process.stop())
  const databaseUrl = await postgres.provideDatabase('sluice')
  const keys = await openIn(databaseUrl, options)
  writeFileSync(join(folder, 'catalog.yaml'), catalogYaml(options))
  const env = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    SLUICE_BUS_KEY: randomBytes(32).toString('hex'),
    SLUICE_CATALOG: join(folder, 'catalog.yaml'),
    SLUICE_LIMITS: LIMITS,
    SLUICE_WORKERS: String(options.workers ?? 1),
    HOST: '127.0.0.1',
    BENCH_API_KEY: 'bench',
    NODE_EXTRA_CA_CERTS: options.providerCertFile,
    LOG_LEVEL: 'warn',
  }
  const start = async (name: 'control' | 'proxy', changes: NodeJS.ProcessEnv, logFile: string) => {
    const data = `${logFile}.data`
    mkdirSync(data)
    // A port that is left to the kernel cannot be shared by workers.
    const port = { PORT: String(await freePort()) }
    const started = program(name, { ...env, ...port, ...changes, SLUICE_DATA: data }, logFile)
    parts.push(() => started.stop())
    await started.start()
    return started
  }
  const control = await start('control', {}, log('control'))
  const proxy = await start('proxy', options.proxyEnv ?? {}, log('proxy'))
  const proxyOnly = options.proxyOnly
    ? await start('proxy', { SLUICE_BENCH_UNMETERED: '1', NODE_ENV: 'benchmark' }, log('proxy-only'))
    : undefined
  const cli = (args: readonly string[]) => runCli(args, env)
  const withDescendants = ({ pid = 0 }: ManagedProcess) => [pid, ...descendants(pid)]
  const pids = () => ({ control: withDescendants(control), postgres: withDescendants(postgres.process) })
  return {
    proxy: proxyOf(proxy),
    proxyOnly: proxyOnly && proxyOf(proxyOnly),
    apiKey: await createAccount(cli),
    keysFile: (count, from = 0) => {
      const file = join(folder, `keys-${from}-${count}.txt`)
      writeFileSync(file, `${keys.slice(from, from + count).join('\n')}\n`)
      return file
    },
    databaseUrl,
    redisPid: redis.process.pid ?? 0,
    pids,
    backgroundPids: () => Object.values(pids()).flat(),
    booked: () => untilBooked(redis.url),
    cli,
  }
}

async function openIn(databaseUrl: string, { accounts, keysPerAccount }: StackOptions): Promise<string[]> {
  const pool = createPool(databaseUrl, limits)
  try {
    await migrate(pool)
    return await openAccounts(pool, accounts, keysPerAccount)
  } finally {
    await pool.end()
  }
}

function proxyOf({ pid = 0, ready, definition }: ManagedProcess): StackProxy {
  return { port: ready['port'] ?? 0, pids: [pid, ...descendants(pid)], logFile: definition.logFile }
}

async function untilBooked(redisUrl: string): Promise<void> {
  const redis = connectRedis(redisUrl, 'wait')
  try {
    for (const untilMs = Date.now() + DRAIN_TIMEOUT_MS; Date.now() < untilMs; await sleep(POLL_MS)) {
      const pipeline = pipelineOf(redis)
      for (let shard = 0; shard < SHARD_COUNT; shard++) pipeline.xlen(ledgerStream(shard))
      const lengths = (await pipeline.exec()) ?? []
      if (lengths.every(([error, length]) => error === null && length === 0)) return
    }
    throw new Error(`ended requests are not booked after ${DRAIN_TIMEOUT_MS} ms`)
  } finally {
    redis.disconnect()
  }
}

function program(name: 'control' | 'proxy', env: NodeJS.ProcessEnv, logFile: string): ManagedProcess {
  return new ManagedProcess({
    name,
    command: process.execPath,
    args: [...NODE_FLAGS, compiled(`${name}/main.js`)],
    env: { ...process.env, ...env },
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
    limits,
  })
}

async function stopPostgres(postgres: PostgresServer): Promise<void> {
  await postgres.process.stop()
  rmSync(postgres.dir, { recursive: true, force: true })
  rmSync(postgres.passwordFile, { force: true })
}

async function createAccount(cli: Stack['cli']): Promise<string> {
  const { status, output } = await cli(['account', 'create', '--credits', CREDITS_USD, '--json'])
  if (status !== 0) throw new Error(`no account could be made:\n${output}`)
  const { api_key: apiKey } = JSON.parse(output) as { api_key: string }
  return apiKey
}

function runCli(args: readonly string[], env: NodeJS.ProcessEnv): Promise<{ status: number; output: string }> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, [compiled('control/cli.js'), ...args], {
      env: { ...process.env, ...env },
      stdio: ['ignore', 'pipe', 'inherit'],
    })
    let output = ''
    child.stdout.on('data', (part: Buffer) => {
      output += part.toString()
    })
    child.on('error', reject)
    child.on('close', (code) => resolve({ status: code ?? 1, output }))
  })
}
