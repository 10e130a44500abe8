import { randomBytes } from 'node:crypto'
import { join } from 'node:path'
import pg from 'pg'
import { createDatabase, type PostgresServer, startPostgres } from '../../control/launch/postgres.ts'
import { findRedis, startRedis } from '../../control/launch/redis.ts'
import { migrate } from '../../control/runtime/db/migrate.ts'
import { createPool } from '../../control/runtime/db/pool.ts'
import { limits } from './limits.ts'
import './lockWatch.ts'
import { makeTempDir, removeTempDir } from './tempDir.ts'

// A test's data is thrown away; what is on disk after a crash of the machine does not matter, a killed server's does. Autovacuum
// would go from one to the next of the hundreds of databases that tests leave, for the whole run.
export const TEST_POSTGRES_SETTINGS = {
  fsync: 'off',
  full_page_writes: 'off',
  max_connections: '400',
  autovacuum: 'off',
}

const TEMPLATE = 'book_template'

/** A server that a test may kill and bring back at the same address with the same data. */
export interface TestServer {
  readonly url: string
  /** Its data. */
  readonly dir: string
  readonly pid: () => number | undefined
  kill9(): Promise<void>
  /** Starts it again after `kill9`, or stops and starts it. */
  restart(): Promise<void>
  /** Stops it and removes its data. */
  stop(): Promise<void>
}

let ownCluster: Promise<PostgresServer> | undefined
let redisProgram: string | undefined

/**
 * Makes a database with the schema of the book, of which `freshDatabase` gives out copies: a copy costs a fraction of the
 * migrations.
 * @returns its name
 */
export async function makeTemplate(postgres: PostgresServer): Promise<string> {
  const pool = createPool(await postgres.provideDatabase(TEMPLATE), limits)
  await migrate(pool)
  await pool.end()
  return TEMPLATE
}

/**
 * A database of its own for the caller, on the run's cluster, or on one that this process starts when it runs outside of the
 * runner. In a run of the runner it has the schema of the book, unless it has to be empty.
 * @returns its postgres:// address
 */
export async function freshDatabase({ empty = false } = {}): Promise<string> {
  const name = `test_${randomBytes(8).toString('hex')}`
  const url = new URL(process.env['SLUICE_TEST_DATABASE_URL'] ?? (await startOwnCluster()).url('postgres'))
  const template = process.env['SLUICE_TEST_TEMPLATE'] ?? ''
  await (empty || template === '' ? createDatabase(url.href, name) : copyDatabase(url.href, template, name))
  url.pathname = `/${name}`
  return url.href
}

async function copyDatabase(url: string, template: string, name: string): Promise<void> {
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  try {
    await client.query(
      `CREATE DATABASE ${client.escapeIdentifier(name)} TEMPLATE ${client.escapeIdentifier(template)} STRATEGY FILE_COPY`,
    )
  } finally {
    await client.end()
  }
}

function startOwnCluster(): Promise<PostgresServer> {
  ownCluster ??= (async () => {
    const dir = makeTempDir('postgres')
    const postgres = await startPostgres({
      dir: join(dir, 'cluster'),
      logFile: join(dir, 'postgres.log'),
      settings: TEST_POSTGRES_SETTINGS,
      unref: true,
      limits,
    })
    process.once('exit', () => {
      removeTempDir(postgres.dir, postgres.passwordFile, dir)
    })
    return postgres
  })()
  return ownCluster
}

/** Redis with an append-only file in a folder of its own. */
export async function startTestRedis({ onSocket = false } = {}): Promise<TestServer> {
  const dir = makeTempDir('redis')
  const socket = onSocket ? { socket: join(dir, 'redis.sock') } : {}
  redisProgram ??= process.env['SLUICE_TEST_REDIS'] ?? findRedis()
  const redis = await startRedis({ dir, logFile: join(dir, 'redis.log'), program: redisProgram, limits, ...socket })
  return {
    url: redis.url,
    dir,
    pid: () => redis.process.pid,
    kill9: () => redis.process.kill9(),
    restart: async () => {
      await redis.process.stop()
      await redis.process.start()
    },
    stop: async () => {
      await redis.process.stop()
      removeTempDir(dir)
    },
  }
}

/** A PostgreSQL cluster of its own with one empty database, for tests that kill the server. */
export async function startTestPostgres(): Promise<TestServer> {
  const dir = makeTempDir('postgres')
  const postgres = await startPostgres({
    dir: join(dir, 'cluster'),
    logFile: join(dir, 'postgres.log'),
    settings: TEST_POSTGRES_SETTINGS,
    limits,
  })
  return {
    url: await postgres.provideDatabase('sluice'),
    dir,
    pid: () => postgres.process.pid,
    kill9: () => postgres.process.kill9(),
    restart: async () => {
      await postgres.process.stop()
      await postgres.startAgain()
    },
    stop: async () => {
      await postgres.process.stop()
      removeTempDir(postgres.dir, postgres.passwordFile, dir)
    },
  }
}
