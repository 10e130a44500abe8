import { spawn } from 'node:child_process'
import { chmodSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import pg from 'pg'
import { ManagedProcess } from '../control/launch/managedProcess.ts'
import { compiled } from '../control/launch/paths.ts'
import type { PostgresServer } from '../control/launch/postgres.ts'
import { startPostgres } from '../control/launch/postgres.ts'
import { startRedis } from '../control/launch/redis.ts'
import { catalogYaml } from './cases.ts'
import { descendants } from './cpu.ts'

const STOP_TIMEOUT_MS = 20_000
const CREDITS_USD = '1000000'
// The load of the benchmark stays far below what it is to measure only when no rate limit stops it.
const LIMITS = JSON.stringify({ requestsPerMinute: 1_000_000_000, requestBurst: 100_000_000 })

/** Sluice on real parts, with one proxy worker and one account. */
export interface Stack {
  port: number
  apiKey: string
  databaseUrl: string
  /** Every process of the proxy. */
  proxyPids: number[]
  /** Everything else: control, Redis and PostgreSQL with its backends. */
  otherPids(): number[]
  /** Runs the operator's command line; resolves with its status and output. */
  cli(args: readonly string[]): Promise<{ status: number; output: string }>
  stop(): Promise<void>
}

/** Starts PostgreSQL, Redis, control and proxy in a folder of their own, in front of the mock provider. */
export async function startStack(providerPort: number): Promise<Stack> {
  const folder = mkdtempSync(join(tmpdir(), 'sluice-bench-'))
  // PostgreSQL runs as another user when this is root.
  chmodSync(folder, 0o755)
  const stops: (() => Promise<void>)[] = []
  const stop = async () => {
    for (const end of stops.reverse()) await end()
    rmSync(folder, { recursive: true, force: true })
  }
  try {
    return await startIn(folder, providerPort, stops, stop)
  } catch (error) {
    await stop()
    throw error
  }
}

async function startIn(
  folder: string,
  providerPort: number,
  stops: (() => Promise<void>)[],
  stop: () => Promise<void>,
): Promise<Stack> {
  const log = (name: string) => join(folder, `${name}.log`)
  const postgres = await startPostgres({ dir: join(folder, 'postgres'), logFile: log('postgres') })
  stops.push(() => stopPostgres(postgres))
  const redis = await startRedis({ dir: join(folder, 'redis'), logFile: log('redis') })
  stops.push(() => redis.process.stop())
  const databaseUrl = await postgres.provideDatabase('sluice')
  writeFileSync(join(folder, 'catalog.yaml'), catalogYaml(providerPort))
  mkdirSync(join(folder, 'data'))
  const env = {
    DATABASE_URL: databaseUrl,
    REDIS_URL: redis.url,
    SLUICE_CATALOG: join(folder, 'catalog.yaml'),
    SLUICE_DATA: join(folder, 'data'),
    SLUICE_LIMITS: LIMITS,
    SLUICE_WORKERS: '1',
    PORT: '0',
    HOST: '127.0.0.1',
    BENCH_API_KEY: 'bench',
    LOG_LEVEL: 'warn',
  }
  const control = program('control', env, log('control'))
  await control.start()
  stops.push(() => control.stop())
  const proxy = program('proxy', env, log('proxy'))
  await proxy.start()
  stops.push(() => proxy.stop())
  const cli = (args: readonly string[]) => runCli(args, env)
  const proxyPid = proxy.pid ?? 0
  return {
    port: proxy.ready['port'] ?? 0,
    apiKey: await createAccount(cli),
    databaseUrl,
    proxyPids: [proxyPid, ...descendants(proxyPid)],
    otherPids: () => [control, redis.process, postgres.process].flatMap(({ pid = 0 }) => [pid, ...descendants(pid)]),
    cli,
    stop,
  }
}

function program(name: 'control' | 'proxy', env: NodeJS.ProcessEnv, logFile: string): ManagedProcess {
  return new ManagedProcess({
    name,
    command: process.execPath,
    args: [compiled(`${name}/main.js`)],
    env,
    logFile,
    stopSignal: 'SIGTERM',
    stopTimeoutMs: STOP_TIMEOUT_MS,
  })
}

async function stopPostgres(postgres: PostgresServer): Promise<void> {
  await postgres.process.stop()
  rmSync(postgres.dir, { recursive: true, force: true })
  rmSync(`${postgres.dir}.password`, { force: true })
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

/** How many receipts are in the book. */
export async function countReceipts(databaseUrl: string): Promise<number> {
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    const { rows } = await client.query<{ n: string }>('SELECT count(*) AS n FROM receipts')
    return Number(rows[0]?.n ?? 0)
  } finally {
    await client.end()
  }
}
