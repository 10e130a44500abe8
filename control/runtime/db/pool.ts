import pg from 'pg'
import type { RuntimeLimits } from '../limits.ts'
import { isDatabaseDown, ReadOnlyDatabaseError } from './isDatabaseDown.ts'
import type { StatementTimes } from './statementTimes.ts'

const INT8_OID = 20
const NUMERIC_OID = 1700
/** How much later the client ends a statement than the server, which only happens where the server or the network is silent. */
const SILENCE_MS = 5_000

/** Runs single statements: the pool, or a connection inside a transaction. */
export type Queryable = Pick<pg.Pool, 'query'> | Pick<pg.PoolClient, 'query'>
/** Connections to the book, and beside them those that hold locks while the work is done on others. */
export type Pool = BookPool
export type Client = pg.PoolClient

/** Amounts are below 2^53 by contract; a larger one is a fault that must not be rounded silently. */
function parseExact(text: string): number {
  const value = Number(text)
  if (!Number.isSafeInteger(value)) throw new RangeError(`the database answered an inexact integer: ${text}`)
  return value
}

function typeParser(oid: number, format?: 'text' | 'binary'): unknown {
  if (format !== 'binary' && (oid === INT8_OID || oid === NUMERIC_OID)) return parseExact
  return pg.types.getTypeParser(oid, format)
}

/** Compiling the short statements of the gateway costs more than running them. */
const NO_JIT = { jit: 'off' }

/** Statements that find few rows by index are planned once, and have no other plan, so that it stays right when tables grow. */
const LOOKUPS = {
  ...NO_JIT,
  plan_cache_mode: 'force_generic_plan',
  enable_seqscan: 'off',
  enable_hashjoin: 'off',
  enable_mergejoin: 'off',
}

const settings = (values: Readonly<Record<string, string>>): string =>
  Object.entries(values)
    .map(([name, value]) => `-c ${name}=${value}`)
    .join(' ')

/** The options that every pool of connections to the book shares. */
function poolOptions(url: string, limits: RuntimeLimits): BookPoolConfig {
  return {
    connectionString: url,
    connectionTimeoutMillis: limits.databaseConnectMs,
    statement_timeout: limits.databaseTimeoutMs,
    query_timeout: limits.databaseTimeoutMs + SILENCE_MS,
    idle_in_transaction_session_timeout: limits.databaseTimeoutMs,
    idleTimeoutMillis: limits.databaseIdleMs,
    locksMax: limits.lockConnectionsMax,
    keepAlive: true,
    // A plan that was kept from when a table was nearly empty costs far more than planning anew: a batch would read the whole table.
    options: settings({ ...NO_JIT, plan_cache_mode: 'force_custom_plan' }),
    types: { getTypeParser: typeParser as typeof pg.types.getTypeParser },
  }
}

/**
 * Opens a bounded pool of connections to the book. Integers come back as numbers, exact or as an error.
 * @param url postgres:// address
 * @param onError called when an idle connection breaks; the pool replaces it by itself
 * @param times of its statements; absent where nobody reads them
 */
export function createPool(
  url: string,
  limits: RuntimeLimits,
  onError: (error: Error) => void = () => {},
  times?: StatementTimes,
): Pool {
  return newPool({ ...poolOptions(url, limits), max: limits.databaseConnectionsMax }, onError, times)
}

/**
 * Opens a pool for prepared statements that find few rows by index, which takes longer to plan than to do.
 * @param onError as for `createPool`; `times` too
 */
export function createLookupPool(
  url: string,
  limits: RuntimeLimits,
  onError: (error: Error) => void = () => {},
  times?: StatementTimes,
): Pool {
  const options = { ...poolOptions(url, limits), options: settings(LOOKUPS) }
  return newPool({ ...options, max: limits.lookupConnectionsMax }, onError, times)
}

function newPool(config: BookPoolConfig, onError: (error: Error) => void, times: StatementTimes | undefined): Pool {
  return new BookPool(
    {
      ...(times !== undefined && { Client: times.client }),
      ...config,
      // Statements that a transaction gives without waiting are sent immediately, in their order. After one that failed the
      // server refuses the others until the rollback.
      pipeline: true,
    },
    onError,
  )
}

type BookPoolConfig = pg.PoolConfig & { readonly locksMax: number }

class BookPool extends pg.Pool {
  private readonly config: BookPoolConfig
  private readonly onError: (error: Error) => void
  private holding: pg.Pool | undefined

  constructor(config: BookPoolConfig, onError: (error: Error) => void) {
    super(config)
    this.config = config
    this.onError = onError
    this.on('error', onError)
  }

  /**
   * The connections that hold locks. A lock that is held on one of the others, while a chain or a store answers, would keep it
   * from the work that it is for, and the work of all others.
   */
  get locks(): pg.Pool {
    this.holding ??= new pg.Pool({ ...this.config, max: this.config.locksMax }).on('error', this.onError)
    return this.holding
  }

  override async end(): Promise<void> {
    await Promise.all([super.end(), this.holding?.end()])
  }
}

/**
 * Runs `work` on its own connection, which is returned to the pool afterwards, or closed when it broke. One to a server that
 * takes no work is closed, too: the next one may lead to the server that took over.
 * @param work also gets a function to report a failure after which the connection must not be reused
 */
export async function withClient<T>(
  pool: Pick<pg.Pool, 'connect'>,
  work: (client: Client, onBroken: (error: Error) => void) => Promise<T>,
): Promise<T> {
  const client = await pool.connect()
  let broken: Error | undefined
  const onBroken = (error: Error): void => {
    broken = error
  }
  client.on('error', onBroken)
  try {
    return await work(client, onBroken)
  } catch (error) {
    if (isDatabaseDown(error)) broken ??= error as Error
    throw error
  } finally {
    client.off('error', onBroken)
    client.release(broken)
  }
}

/**
 * Asks whether the server takes writes.
 * @throws ReadOnlyDatabaseError when it takes none; the error of the connection when it does not answer
 */
export function requireWrites(pool: Pick<pg.Pool, 'connect'>): Promise<void> {
  return withClient(pool, async (client) => {
    const { rows } = await client.query<{ transaction_read_only: string }>('SHOW transaction_read_only')
    if (rows[0]?.transaction_read_only !== 'off') throw new ReadOnlyDatabaseError()
  })
}

/**
 * Runs `work` in one transaction and commits it.
 * When this rejects, the transaction is rolled back, or (connection lost at the commit) its outcome is unknown: callers
 * have to be safe to repeat.
 */
export function withTransaction<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  return withClient(pool, async (client, onBroken) => {
    try {
      await client.query('BEGIN')
      const result = await work(client)
      await client.query('COMMIT')
      return result
    } catch (error) {
      await client.query('ROLLBACK').catch(onBroken)
      throw error
    }
  })
}

/**
 * Runs reads that all see the book as it is at one moment. The first of them is sent with the beginning of the transaction.
 * @param work settles after all of its reads, also where one of them fails
 */
export function withSnapshot<T>(pool: Pool, work: (client: Client) => Promise<T>): Promise<T> {
  return withClient(pool, async (client, onBroken) => {
    const begun = client.query('BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY')
    const [begin, read] = await Promise.allSettled([begun, work(client)])
    await client.query('COMMIT').catch(onBroken)
    if (begin.status === 'rejected') throw begin.reason
    if (read.status === 'rejected') throw read.reason
    return read.value
  })
}
