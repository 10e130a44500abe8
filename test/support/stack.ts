import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { Redis } from 'ioredis'
import type { Redis as AnyRedis } from '../../contract/wire/redis.ts'
import { accountKey, shardOf } from '../../contract/wire/redisKeys.ts'
import { waitReady } from '../../control/launch/waitReady.ts'
import { CliProcess, type CliResult } from './cli.ts'
import { type LimitChanges, limitsText, PATIENCE } from './limits.ts'
import { TEST_CATALOG_KEY, TEST_LOG_KEY } from './logKey.ts'
import { TEST_BUS_KEY } from './parts/sealedCalls.ts'
import { ProviderControls } from './providerControls.ts'
import { freshDatabase, startTestPostgres, startTestRedis, type TestServer } from './services.ts'
import { untilSettled, withRedisAt } from './settled.ts'
import { makeTempDir, removeTempDir } from './tempDir.ts'
import { type TestCatalogOptions, testCatalog } from './testCatalog.ts'
import { TestProcess } from './testProcess.ts'
import { until } from './until.ts'

export { until, untilRead, untilSame } from './until.ts'

const SETTLED_TIMEOUT_MS = 90_000
// Control that is stopped waits for its last read of the ledger streams.
const BLOCK_MS = 200
// No load balancer stands before these proxies; a test that is about the notice sets it.
const NOTICE_MS = 1
/** A connection to PostgreSQL costs as much as hundreds of small statements, and every loop of control would have one of its own. */
const FEW_CONNECTIONS = { databaseConnectionsMax: 4, lookupConnectionsMax: 1 }
export interface StackOptions {
  /** Models and providers, or the whole text of the catalog from the address of the mock provider. */
  readonly catalog?: TestCatalogOptions | ((providerUrl: string) => string)
  /** Processes of the proxy. */
  readonly workers?: number
  /** Whole proxies, each with that many processes. Default: 1. */
  readonly proxies?: number
  readonly limits?: LimitChanges
  /** For control and proxy. */
  readonly env?: NodeJS.ProcessEnv
  /** A PostgreSQL cluster of its own, so that the test may kill it. */
  readonly ownPostgres?: boolean
  /** Servers of another kind, with an empty database at their address; they are stopped with the stack. */
  readonly postgres?: TestServer
  /** Redis is reached by a Unix domain socket. */
  readonly redisSocket?: boolean
  /** What REDIS_URL leads to, of any kind, in place of a Redis of the stack's own; it is stopped with the stack. */
  readonly redis?: TestServer
}

export interface TestAccount {
  readonly accountId: string
  readonly apiKey: string
}

export interface AccountOptions {
  /** USD as a decimal string. Default: 10 of credits. */
  readonly credits?: string
  /** USD of coin as a decimal string. */
  readonly coin?: string
  /** More arguments of `account create`, such as ['--cap-hour', '0.5']. */
  readonly args?: readonly string[]
}

/** The compiled programs, running for one test. */
export class Stack {
  readonly dir: string
  readonly databaseUrl: string
  readonly redis: TestServer
  /** Only with `ownPostgres`. */
  readonly postgres: TestServer | undefined
  readonly control: TestProcess
  readonly proxy: TestProcess
  /** Those beside `proxy`, over the same data folder. */
  readonly moreProxies: readonly TestProcess[]
  /** Of every process of the gateway. */
  readonly env: NodeJS.ProcessEnv
  readonly providerProcess: TestProcess
  private readonly commands: CliProcess

  constructor(parts: {
    dir: string
    databaseUrl: string
    redis: TestServer
    postgres: TestServer | undefined
    provider: TestProcess
    options: StackOptions
  }) {
    const { dir, options } = parts
    this.dir = dir
    this.databaseUrl = parts.databaseUrl
    this.redis = parts.redis
    this.postgres = parts.postgres
    this.providerProcess = parts.provider
    this.provider = new ProviderControls(parts.provider, () => this.baseUrl)
    const env = {
      DATABASE_URL: parts.databaseUrl,
      REDIS_URL: parts.redis.url,
      SLUICE_BUS_KEY: TEST_BUS_KEY,
      SLUICE_LOG_KEY: TEST_LOG_KEY,
      SLUICE_CATALOG_KEY: TEST_CATALOG_KEY,
      SLUICE_CATALOG: join(dir, 'catalog.yaml'),
      SLUICE_DATA: dir,
      SLUICE_JOURNAL_MEMORY: dir,
      SLUICE_LIMITS: limitsText({
        ...PATIENCE,
        ...FEW_CONNECTIONS,
        leaveNoticeMs: NOTICE_MS,
        settlementBlockMs: BLOCK_MS,
        ...options.limits,
      }),
      SLUICE_WORKERS: String(options.workers ?? 1),
      SLUICE_TEST_PROVIDER_KEY: 'provider-key',
      HOST: '127.0.0.1',
      ...options.env,
    }
    this.env = env
    this.commands = new CliProcess(env)
    this.control = new TestProcess('control', 'control/main.js', [], dir, env)
    this.proxy = new TestProcess('proxy', 'proxy/main.js', [], dir, env)
    this.moreProxies = Array.from(
      { length: (options.proxies ?? 1) - 1 },
      (_, i) => new TestProcess(`proxy${i + 2}`, 'proxy/main.js', [], dir, env),
    )
  }

  /** Without /v1. */
  get baseUrl(): string {
    return `http://127.0.0.1:${this.proxy.port}`
  }

  /** Of every proxy. */
  get baseUrls(): string[] {
    return [this.proxy, ...this.moreProxies].map(({ port }) => `http://127.0.0.1:${port}`)
  }

  get metricsUrl(): string {
    return `http://127.0.0.1:${this.proxy.metricsPort}/metrics`
  }

  get controlMetricsUrl(): string {
    return `http://127.0.0.1:${this.control.metricsPort}/metrics`
  }

  /** The process ids of the proxy's workers that run now. */
  get workerPids(): number[] {
    const found = spawnSync('pgrep', ['-P', String(this.proxy.pid)], { encoding: 'utf8' })
    return found.stdout.split('\n').filter(Boolean).map(Number)
  }

  readonly provider: ProviderControls

  /** Replaces the catalog file; control takes it at its next start. */
  writeCatalog(catalog: NonNullable<StackOptions['catalog']>): void {
    const url = this.provider.url()
    const text = typeof catalog === 'function' ? catalog(url) : testCatalog(url, catalog)
    writeFileSync(join(this.dir, 'catalog.yaml'), text)
  }

  /** Waits until the proxy serves requests, as after a restart of something it needs. */
  async ready(timeoutMs: number = SETTLED_TIMEOUT_MS): Promise<void> {
    assert.equal(await waitReady(this.baseUrl, timeoutMs), undefined, 'the proxy did not become ready')
  }

  /** Lets the process of the command line start beside the others. */
  prepareCommands(): void {
    this.commands.start()
  }

  /** Runs the operator's command line against this stack, with --json. */
  cli(...args: string[]): Promise<CliResult> {
    return this.commands.run([...args, '--json'])
  }

  /** The same without --json, as operators type it. */
  command(args: readonly string[]): Promise<CliResult> {
    return this.commands.run(args)
  }

  /** Makes an account with a key and waits until requests can be held on it. */
  async createAccount(options: AccountOptions = {}): Promise<TestAccount> {
    const money = []
    if (options.credits !== undefined || options.coin === undefined) money.push('--credits', options.credits ?? '10')
    if (options.coin !== undefined) money.push('--coin', options.coin)
    const result = await this.cli('account', 'create', ...money, ...(options.args ?? []))
    assert.equal(result.code, 0, `account create failed: ${result.stderr}`)
    const { account_id: accountId, api_key: apiKey } = result.json as { account_id: string; api_key: string }
    const key = accountKey(shardOf(accountId), accountId)
    await this.withAnyRedis((redis) => until('the account is in Redis', async () => (await redis.exists(key)) === 1))
    return { accountId, apiKey }
  }

  /** Waits until admission is open, no hold is, no lease is out and every ended request is in the book. */
  settled(timeoutMs: number = SETTLED_TIMEOUT_MS): Promise<void> {
    return untilSettled(this.redis.url, timeoutMs)
  }

  /** Asserts that `sluice audit` finds nothing wrong. */
  async audit(): Promise<void> {
    const result = await this.cli('audit')
    assert.equal(result.code, 0, `audit found:\n${result.stdout}\n${result.stderr}`)
  }

  /** Calls `work` with a connection of the gateway's own kind, to a Redis of any kind. */
  withAnyRedis<T>(work: (redis: AnyRedis) => Promise<T>): Promise<T> {
    return withRedisAt(this.redis.url, work)
  }

  /** Calls `work` with a connection to the stack's Redis, which is one server. */
  async withRedis<T>(work: (redis: Redis) => Promise<T>): Promise<T> {
    const redis = new Redis(this.redis.url, { maxRetriesPerRequest: 20 })
    redis.on('error', () => {})
    try {
      return await work(redis)
    } finally {
      redis.disconnect()
    }
  }

  /** The logs of control and proxy, for the message of a failed test. */
  logs(): string {
    return ['control', 'proxy']
      .map((name) => `${name}:\n${readFileSync(join(this.dir, `${name}.log`), 'utf8')}`)
      .join('\n')
  }

  /** The end of a test that moves money: waits until all is booked, audits the books, stops everything. */
  async finish(): Promise<void> {
    try {
      await this.settled()
      await this.audit()
    } finally {
      await this.stop()
    }
  }

  /** Stops everything and removes its data. */
  async stop(): Promise<void> {
    await Promise.all([this.proxy, ...this.moreProxies].map((proxy) => proxy.stop()))
    await Promise.all([this.control.stop(), this.providerProcess.stop(), this.commands.stop()])
    await Promise.all([this.redis.stop(), this.postgres?.stop()])
    removeTempDir(this.dir)
  }
}

/** Starts mock provider, PostgreSQL database, Redis, control and proxy on free ports. Stop it with `stop()`. */
export async function startStack(options: StackOptions = {}): Promise<Stack> {
  const dir = makeTempDir('stack')
  mkdirSync(dir, { recursive: true })
  const provider = new TestProcess('provider', 'mock/main.js', [], dir, {})
  const postgres = options.postgres ?? (options.ownPostgres === true ? await startTestPostgres() : undefined)
  const started = options.redis ?? startTestRedis({ onSocket: options.redisSocket === true })
  const [redis] = await Promise.all([started, provider.start()])
  const databaseUrl = postgres?.url ?? (await freshDatabase())
  const stack = new Stack({ dir, databaseUrl, redis, postgres, provider, options })
  try {
    stack.writeCatalog(options.catalog ?? {})
    stack.prepareCommands()
    await stack.control.start()
    await Promise.all([stack.proxy, ...stack.moreProxies].map((proxy) => proxy.start()))
    await stack.ready()
    return stack
  } catch (error) {
    await stack.stop()
    throw error
  }
}
