// How fast ended requests get from the ledger streams into the book, to the commit.
// node dist/bench/settlement.js [receipts] [accounts] [endings of a stream entry, 1 as single holds have] [--json]
// [--controls=N]: by N other processes in place of this one [--lanes=N]: transactions
// that book concurrently in this process, and the locks that they wait for

import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { pino } from 'pino'
import { sluice } from '../contract/wire/generated/messages.js'
import { newId } from '../contract/wire/ids.ts'
import type { Redis } from '../contract/wire/redis.ts'
import { ledgerStream, SHARD_COUNT, shardOf } from '../contract/wire/redisKeys.ts'
import { pipelineOf } from '../contract/wire/redisShards.ts'
import { SettlementConsumer } from '../control/book/settlement/consumer.ts'
import type { PostgresServer } from '../control/launch/postgres.ts'
import { migrate } from '../control/runtime/db/migrate.ts'
import type { Pool } from '../control/runtime/db/pool.ts'
import { startChild } from './child.ts'
import { familyCpuMicros } from './cpu.ts'
import { fundedAccounts } from './fundedAccounts.ts'
import { limits } from './limits.ts'
import { startBookServers } from './parts/bookServers.ts'
import { settlementOf } from './parts/endings.ts'
import { type LockWaits, withLockWaits } from './parts/lockWaits.ts'
import type { SettlementResult } from './results.ts'

const CREDIT_UNITS = 1_000_000_000_000
const FILL_BATCH = 2_000
const TIMEOUT_MS = 180_000
const CONTROLS_MAX = 8
const ENDINGS_OF_ENTRY = 16

type Run = Required<SettlementResult['runs'][number]>

/** The contents that the streams were filled with. */
interface Filled {
  readonly receipts: number
  readonly units: number
}

/** The stream entry of a single hold, as settle.lua writes it. */
function singleFields(settlement: sluice.ISettlement): (string | number | Buffer)[] {
  const { chargeUnits: charge } = settlement
  const encoded = Buffer.from(sluice.Settlement.encode(settlement).finish())
  return ['e', encoded, 'c', Number(charge), 't', Date.now(), 's', `coin=${charge}`]
}

/** The stream entries that one proxy process delivers to a shard, as deliver.lua writes them. */
class Delivery {
  private readonly owner: string
  private from = 1
  private endings: sluice.IEnded[] = []

  constructor(owner: string) {
    this.owner = owner
  }

  /** @returns how many endings wait for `fields` */
  add(settlement: sluice.ISettlement): number {
    return this.endings.push({ settlement, heldAtMs: Date.now(), split: `coin=${settlement.chargeUnits}` })
  }

  fields(): (string | Buffer)[] {
    const { owner, from, endings } = this
    this.from += endings.length
    this.endings = []
    return ['b', Buffer.from(sluice.EndingBatch.encode({ owner, from, endings }).finish())]
  }

  get isEmpty(): boolean {
    return this.endings.length === 0
  }
}

async function fillStreams(redis: Redis, accounts: readonly string[], count: number, ofEntry: number): Promise<Filled> {
  const owner = newId('own')
  const deliveries = Array.from({ length: SHARD_COUNT }, () => new Delivery(owner))
  let units = 0
  for (let from = 0; from < count; from += FILL_BATCH) {
    const pipeline = pipelineOf(redis)
    for (let i = from; i < Math.min(count, from + FILL_BATCH); i++) {
      const accountId = accounts[Math.floor(Math.random() * accounts.length)] as string
      const charge = 1 + Math.floor(Math.random() * 1_000_000)
      units += charge
      const settlement = settlementOf({ accountId, holdUnits: charge * 2, chargeUnits: charge })
      const shard = shardOf(accountId)
      const delivery = deliveries[shard] as Delivery
      if (ofEntry === 1) pipeline.xadd(ledgerStream(shard), '*', ...singleFields(settlement))
      else if (delivery.add(settlement) >= ofEntry) pipeline.xadd(ledgerStream(shard), '*', ...delivery.fields())
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error
  }
  for (const [shard, delivery] of deliveries.entries()) {
    if (!delivery.isEmpty) await redis.xadd(ledgerStream(shard), '*', ...delivery.fields())
  }
  return { receipts: count, units }
}

async function verify(pool: Pool, filled: Filled): Promise<void> {
  const found = await pool.query<{ receipts: number; units: number; revenue: number; size: number; usage: number }>(`
    SELECT (SELECT count(*) FROM receipts) AS receipts, (SELECT sum(charge_units) FROM receipts) AS units,
      (SELECT sum(balance) FROM ledger_accounts WHERE id LIKE 'revenue%') AS revenue,
      (SELECT sum(size) FROM usage_log_heads WHERE log < 65) AS size, (SELECT sum(units) FROM key_usage) AS usage`)
  const book = found.rows[0]
  const right =
    book?.receipts === filled.receipts &&
    book.size === filled.receipts &&
    book.units === filled.units &&
    book.revenue === filled.units &&
    book.usage === filled.units
  if (!right) throw new Error(`the book has ${JSON.stringify(book)}, the streams had ${JSON.stringify(filled)}`)
}

async function measure(pool: Pool, redisUrl: string, filled: Filled, lanes: number): Promise<number> {
  const log = pino({ level: process.env['LOG_LEVEL'] ?? 'error' })
  const begin = performance.now()
  const own = { ...limits, settlementLanes: lanes }
  const consumer = new SettlementConsumer({ redisUrl, pool, log, consumer: 'bench', limits: own })
  try {
    while (consumer.tally.stats.receipts < filled.receipts) {
      if (performance.now() - begin > TIMEOUT_MS)
        throw new Error(`after ${TIMEOUT_MS} ms: ${JSON.stringify(consumer.tally.stats)}`)
      await sleep(5)
    }
    return performance.now() - begin
  } finally {
    await consumer.stop()
  }
}

interface Measured {
  readonly elapsedMs: number
  readonly cpuMicros: number
}

async function measureHere(pool: Pool, redisUrl: string, filled: Filled, lanes: number): Promise<Measured> {
  const begun = process.cpuUsage()
  const elapsedMs = await measure(pool, redisUrl, filled, lanes)
  const { user, system } = process.cpuUsage(begun)
  return { elapsedMs, cpuMicros: user + system }
}

/** Has processes book side by side until everything is committed. */
async function measureBeside(pool: Pool, urls: readonly string[], filled: Filled, controls: number): Promise<Measured> {
  const children = await Promise.all(Array.from({ length: controls }, () => startChild('bookingControl.js', urls)))
  try {
    const begin = performance.now()
    for (const child of children) child.process.send('begin')
    while ((await bookedIn(pool)) < filled.receipts) {
      if (performance.now() - begin > TIMEOUT_MS) throw new Error(`not booked after ${TIMEOUT_MS} ms`)
      await sleep(20)
    }
    const elapsedMs = performance.now() - begin
    const times = await Promise.all(
      children.map(async ({ process: child }) => {
        const answered = once(child, 'message')
        child.send('end')
        const [{ cpuMicros }] = (await answered) as [{ cpuMicros: number }]
        return cpuMicros
      }),
    )
    return { elapsedMs, cpuMicros: times.reduce((sum, one) => sum + one, 0) }
  } finally {
    await Promise.all(children.map((child) => child.stop()))
  }
}

/** The resources that all processes of PostgreSQL have used since its start. */
async function serverUse(pool: Pool, postgres: PostgresServer): Promise<{ cpuMicros: number; walBytes: number }> {
  const { pid } = postgres.process
  if (pid === undefined) throw new Error('PostgreSQL does not run')
  const found = await pool.query<{ bytes: number }>("SELECT pg_current_wal_insert_lsn() - '0/0' AS bytes")
  return { cpuMicros: familyCpuMicros(pid), walBytes: found.rows[0]?.bytes ?? 0 }
}

async function bookedIn(pool: Pool): Promise<number> {
  const found = await pool.query<{ size: number }>(
    'SELECT sum(size)::bigint AS size FROM usage_log_heads WHERE log < 64',
  )
  return found.rows[0]?.size ?? 0
}

/** The number that an option has; undefined for none. */
function asked(option: string, most: number): number | undefined {
  const [, digits] = /^--\w+=(\d+)$/.exec(process.argv.find((arg) => arg.startsWith(`${option}=`)) ?? '') ?? []
  return digits === undefined ? undefined : Math.min(Math.max(Number(digits), 1), most)
}

async function main(): Promise<void> {
  const [count = 100_000, accountCount = 1_000, ofEntry = ENDINGS_OF_ENTRY] = process.argv
    .slice(2)
    .filter(isNumber)
    .map(Number)
  const servers = await startBookServers('settlement')
  const { pool, redis, postgres, databaseUrl, redisUrl } = servers
  const controls = asked('--controls', CONTROLS_MAX)
  // Another connection takes the samples.
  const lanes = asked('--lanes', limits.databaseConnectionsMax - 1)
  try {
    await migrate(pool)
    const filled = await fillStreams(redis, await fundedAccounts(pool, accountCount, CREDIT_UNITS), count, ofEntry)
    const before = await serverUse(pool, postgres)
    const measured = () =>
      controls === undefined
        ? measureHere(pool, redisUrl, filled, lanes ?? limits.settlementLanes)
        : measureBeside(pool, [databaseUrl, redisUrl], filled, controls)
    // The samples take time of PostgreSQL, so that only a run that asks for them has them.
    const [{ elapsedMs, cpuMicros }, waits] =
      lanes === undefined ? [await measured()] : await withLockWaits(pool, measured)
    const after = await serverUse(pool, postgres)
    await verify(pool, filled)
    const { receipts } = filled
    const result = {
      receipts,
      accounts: accountCount,
      elapsedMs,
      cpuMicrosPerReceipt: cpuMicros / receipts,
      postgresMicrosPerReceipt: (after.cpuMicros - before.cpuMicros) / receipts,
      walBytesPerReceipt: (after.walBytes - before.walBytes) / receipts,
    }
    console.log(
      process.argv.includes('--json')
        ? JSON.stringify(result)
        : sentence(result) + (waits === undefined ? '' : waitsText(waits)),
    )
  } finally {
    await servers.stop()
  }
}

function sentence(run: Run): string {
  const { receipts, accounts, elapsedMs, cpuMicrosPerReceipt, postgresMicrosPerReceipt, walBytesPerReceipt } = run
  const rate = Math.round((receipts / elapsedMs) * 1_000)
  const cpu = `CPU a receipt: control ${cpuMicrosPerReceipt.toFixed(1)} us, PostgreSQL ${postgresMicrosPerReceipt.toFixed(1)} us`
  const wal = `${Math.round(walBytesPerReceipt)} bytes of WAL`
  return `settlement: ${rate} receipts/s to the commit (${receipts} of ${accounts} accounts in ${Math.round(elapsedMs)} ms; ${cpu}; ${wal})`
}

function waitsText({ active, waiting, byLock, transactionsMax }: LockWaits): string {
  const share = ((100 * waiting) / Math.max(1, active)).toFixed(1)
  return `, up to ${transactionsMax} concurrent transactions; ${share} % of ${active} samples of statements waited for a lock (${[...byLock].map(([lock, count]) => `${lock} ${count}`).join(', ')})`
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text)
}

await main()
