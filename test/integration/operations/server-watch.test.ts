// Goal: what docs/operations/incidents.md says of a database or a Redis that is slow, and of a lag, is seen where it says: in metrics
// and in one log line at each change. Method: control's own watches run against real servers behind relays that keep the bytes.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { pino } from 'pino'
import { HOUR_MS } from '../../../contract/api/time.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { StatementTimes } from '../../../control/runtime/db/statementTimes.ts'
import { ControlMetrics } from '../../../control/service/metrics.ts'
import { watchServers } from '../../../control/service/watchServers.ts'
import { limitsWith } from '../../support/limits.ts'
import {
  appendEnded,
  type Book,
  drainAll,
  ensureOpen,
  fundedAccount,
  settlementOf,
  startBook,
  until,
} from '../../support/parts/ledger.ts'
import { Relay } from '../../support/relay.ts'

const limits = limitsWith({
  serverCheckMs: 20,
  serverSlowMs: 1_000,
  lagCheckMs: 20,
  settlementLateMs: 1_000,
  scrapeReadsMs: 500,
  databaseConnectionsMax: 3,
})

let book: Book
let postgresPort: number
let databaseName: string
let postgresRelay: Relay
let redisRelay: Relay
let pool: Pool
let redis: Redis
let watches: ReturnType<typeof watchServers>
let metrics: ControlMetrics
const times = new StatementTimes()
const lines: Readonly<Record<string, unknown>>[] = []

before(async () => {
  book = await startBook()
  await ensureOpen(book)
  const { options } = book.pool as unknown as { options: { connectionString: string } }
  const database = new URL(options.connectionString)
  postgresPort = Number(database.port)
  databaseName = database.pathname.slice(1)
  postgresRelay = await Relay.start(postgresPort)
  database.host = `127.0.0.1:${postgresRelay.port}`
  const server = new URL(book.redisServer.url)
  redisRelay = await Relay.start(Number(server.port))
  server.host = `127.0.0.1:${redisRelay.port}`
  pool = createPool(database.href, limits, () => {}, times)
  redis = connectRedis(server.href, 'wait')
  redis.on('error', () => {})
  const log = pino({ level: 'info' }, { write: (line: string) => void lines.push(JSON.parse(line)) })
  watches = watchServers({ pool, redis, log, limits, hasExport: true })
  metrics = new ControlMetrics({
    settlement: () => ({ batches: 0, receipts: 0, duplicates: 0, rejects: 0, shortfallUnits: 0, retries: 0 }),
    orphansVoided: () => 0,
    takenBackUnits: () => 0,
    priceLists: () => ({ reads: 0, failures: 0 }),
    shards: () => 64,
    statements: times.seconds,
    gauges: watches.gauges,
    readsMs: limits.scrapeReadsMs,
    totals: [times.total, ...watches.totals],
    labelledGauges: [],
  })
})

/** A test that fails leaves no server that stands still to the next one. */
afterEach(() => {
  postgresRelay.targetPort = postgresPort
  postgresRelay.release()
  redisRelay.release()
})

after(async () => {
  metrics.stop()
  await watches.stop()
  redis.disconnect()
  await pool.end()
  await Promise.all([postgresRelay.stop(), redisRelay.stop()])
  await book.stop()
})

/** A sample of a scrape; NaN where there is none. */
async function scraped(name: string): Promise<number> {
  const { text } = await metrics.write()
  return Number(
    text
      .split('\n')
      .find((line) => line.startsWith(`sluice_control_${name} `))
      ?.split(' ')[1],
  )
}

/** In seconds, well below `serverSlowMs`. */
const IN_TIME = 0.9
/** A port on which nothing listens. */
const NOBODY = 9
const events = (event: string): number => lines.filter((line) => line['event'] === event).length

/** What is logged when a watch begins to see trouble, and the end of it. */
const ENDS = {
  postgres_slow: 'postgres_recovered',
  redis_slow: 'redis_recovered',
  settlement_late: 'settlement_caught_up',
  export_late: 'export_caught_up',
} as const

/** Makes trouble while its watch sees none: a machine that is busy is slow by itself, and trouble is logged where it begins. */
async function began(event: keyof typeof ENDS, change: () => unknown): Promise<void> {
  await until(`no ${event} is open`, async () => events(event) === events(ENDS[event]))
  await logged(event, change)
}

/** A change is one line more than before. */
async function logged(event: string, change: () => unknown): Promise<void> {
  const before = events(event)
  await change()
  await until(`${event} is logged`, async () => events(event) > before)
}

test('a database that stands still is seen in metrics, and logged once, and so is its return', async () => {
  await until('PostgreSQL is asked', async () => (await scraped('postgres_sessions_max')) > 0)
  await until('it is in time', async () => (await scraped('postgres_round_trip_seconds')) < IN_TIME)
  assert.equal(await scraped('shards'), 64)
  await began('postgres_slow', () => postgresRelay.hold('server'))
  const told = events('postgres_slow')
  await until('the metric grows', async () => (await scraped('postgres_round_trip_seconds')) > 1.5)
  const waiting = Array.from({ length: 5 }, () => pool.query('SELECT 1'))
  await until('callers wait', async () => (await scraped('postgres_pool_waiting')) >= 3)
  assert.equal(events('postgres_slow'), told, 'one line, however long it lasts')
  await logged('postgres_recovered', () => postgresRelay.release())
  await Promise.all(waiting)
  await until('the metric falls', async () => (await scraped('postgres_round_trip_seconds')) < IN_TIME)
  await until('nobody waits', async () => (await scraped('postgres_pool_waiting')) === 0)
  assert.ok((await scraped('postgres_statement_seconds_count')) > 5)
})

test('a database that refuses connections is seen in the metric for as long as it does', async () => {
  await until('it is in time', async () => (await scraped('postgres_round_trip_seconds')) < IN_TIME)
  await began('postgres_slow', () => {
    postgresRelay.targetPort = NOBODY
    postgresRelay.breakAll()
  })
  await until('the metric grows', async () => (await scraped('postgres_round_trip_seconds')) > 1.5)
  await logged('postgres_recovered', () => {
    postgresRelay.targetPort = postgresPort
  })
  await until('the metric falls', async () => (await scraped('postgres_round_trip_seconds')) < IN_TIME)
})

test('a database that takes no writes is seen as one that is away', async () => {
  await until('it is in time', async () => (await scraped('postgres_round_trip_seconds')) < IN_TIME)
  const alter = (what: string) => book.pool.query(`ALTER DATABASE "${databaseName}" ${what}`)
  await began('postgres_slow', async () => {
    await alter('SET default_transaction_read_only = on')
    postgresRelay.breakAll()
  })
  await until('the metric grows', async () => (await scraped('postgres_round_trip_seconds')) > 1.5)
  await logged('postgres_recovered', () => alter('RESET default_transaction_read_only'))
  await until('the metric falls', async () => (await scraped('postgres_round_trip_seconds')) < IN_TIME)
})

test('statements that fail are counted by the class of their error', async () => {
  await assert.rejects(pool.query('SELECT 1 / 0'))
  const client = await pool.connect()
  await assert.rejects(client.query('SELECT no_such_column'))
  await client.query(`SET statement_timeout = '1ms'`)
  await assert.rejects(client.query('SELECT pg_sleep(5)'))
  client.release(true)
  const { text } = await metrics.write()
  for (const name of ['content', 'other', 'timeout'])
    assert.match(text, new RegExp(`^sluice_control_postgres_errors_total{class="${name}"} 1$`, 'm'))
})

test('a Redis that stands still is seen in metrics, and logged once', async () => {
  await until('Redis is asked', async () => (await scraped('redis_used_bytes')) > 0)
  await book.redis.config('SET', 'maxmemory', '104857600')
  await until('its bound is known', async () => (await scraped('redis_max_bytes')) === 104_857_600)
  await began('redis_slow', () => redisRelay.hold('server'))
  await until('the metric grows', async () => (await scraped('redis_round_trip_seconds')) > 1.5)
  await logged('redis_recovered', () => redisRelay.release())
  await until('the metric falls', async () => (await scraped('redis_round_trip_seconds')) < IN_TIME)
  assert.equal(await scraped('redis_changes_total'), 0)
})

test('booking that is late is logged at its begin and at its end', async () => {
  const accountId = await fundedAccount(book, 1_000)
  await ensureOpen(book)
  const settlement = settlementOf({ requestId: newId('req'), accountId, chargeUnits: 1 })
  await began('settlement_late', () => appendEnded(book.redis, settlement, accountId, 1))
  await logged('settlement_caught_up', () => drainAll(book))
  const late = lines.find((line) => line['event'] === 'settlement_late')
  assert.ok(Number(late?.['lagMs']) > 1_000)
})

test('an export that is late is logged at its begin and at its end', async () => {
  const exportedUntil = (hour: number) => book.pool.query('UPDATE export_progress SET hour = $1', [hour])
  const thisHour = Math.floor(Date.now() / HOUR_MS)
  await began('export_late', () => exportedUntil(thisHour - 4))
  await logged('export_caught_up', () => exportedUntil(thisHour - 1))
  assert.deepEqual([events('export_late'), events('export_caught_up')], [1, 1])
  const late = lines.find((line) => line['event'] === 'export_late')
  assert.ok(Number(late?.['lagMs']) >= 2 * HOUR_MS)
})

test('another server in the place of Redis is counted and logged', async () => {
  await logged('redis_changed', () => book.redisServer.restart())
  assert.equal(await scraped('redis_changes_total'), 1)
})
