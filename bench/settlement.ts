// How fast ended requests get from the ledger streams into the book, to the commit.
// node dist/bench/settlement.js [receipts] [accounts] [--json]

import { chmodSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Redis } from 'ioredis'
import { pino } from 'pino'
import { sluice } from '../contract/wire/generated/messages.js'
import { newId } from '../contract/wire/ids.ts'
import { connectRedis } from '../contract/wire/redis.ts'
import { ledgerStream, shardOf } from '../contract/wire/redisKeys.ts'
import { creditCoin } from '../control/book/ledger/creditCoin.ts'
import { openAccount } from '../control/book/ledger/openAccount.ts'
import { SettlementConsumer } from '../control/book/settlement/consumer.ts'
import { startPostgres } from '../control/launch/postgres.ts'
import { startRedis } from '../control/launch/redis.ts'
import { migrate } from '../control/runtime/db/migrate.ts'
import { createPool, type Pool, withTransaction } from '../control/runtime/db/pool.ts'
import { limits } from './limits.ts'
import type { SettlementResult } from './results.ts'

const CREDIT_UNITS = 1_000_000_000_000
const FILL_BATCH = 2_000
const TIMEOUT_MS = 60_000

/** What the streams were filled with. */
interface Filled {
  readonly receipts: number
  readonly units: number
}

async function openAccounts(pool: Pool, count: number): Promise<string[]> {
  const ids: string[] = []
  for (let i = 0; i < count; i++) {
    const accountId = newId('acct')
    await withTransaction(pool, async (client) => {
      await openAccount(client, accountId)
      await creditCoin(client, { accountId, units: CREDIT_UNITS, ref: accountId })
    })
    ids.push(accountId)
  }
  return ids
}

function settlementOf(accountId: string, chargeUnits: number): Uint8Array {
  return sluice.Settlement.encode({
    requestId: newId('req'),
    accountId,
    keyId: accountId.replace('acct', 'key'),
    model: 'acme/chat-small',
    endpoint: 'chat',
    provider: 'acme',
    sheetVersion: 1,
    status: sluice.Status.OK,
    streamed: true,
    holdUnits: chargeUnits * 2,
    chargeUnits,
    usage: { input: 120, cachedInput: 16, output: 340 },
    usageSource: sluice.UsageSource.REPORTED,
    startedAtMs: Date.now(),
    firstByteMs: 210,
    durationMs: 3_100,
  }).finish()
}

async function fillStreams(redis: Redis, accounts: readonly string[], count: number): Promise<Filled> {
  let units = 0
  for (let from = 0; from < count; from += FILL_BATCH) {
    const pipeline = redis.pipeline()
    for (let i = from; i < Math.min(count, from + FILL_BATCH); i++) {
      const accountId = accounts[Math.floor(Math.random() * accounts.length)] as string
      const charge = 1 + Math.floor(Math.random() * 1_000_000)
      units += charge
      const settlement = Buffer.from(settlementOf(accountId, charge))
      const fields = ['e', settlement, 'c', charge, 't', Date.now(), 's', `coin=${charge}`]
      pipeline.xadd(ledgerStream(shardOf(accountId)), '*', ...fields)
    }
    for (const [error] of (await pipeline.exec()) ?? []) if (error !== null) throw error
  }
  return { receipts: count, units }
}

async function verify(pool: Pool, filled: Filled): Promise<void> {
  const found = await pool.query<{ receipts: number; units: number; revenue: number; size: number; usage: number }>(`
    SELECT (SELECT count(*) FROM receipts) AS receipts, (SELECT sum(charge_units) FROM receipts) AS units,
      (SELECT balance FROM ledger_accounts WHERE id = 'revenue') AS revenue,
      (SELECT size FROM usage_log_head) AS size, (SELECT sum(units) FROM key_usage) AS usage`)
  const book = found.rows[0]
  const right =
    book?.receipts === filled.receipts &&
    book.size === filled.receipts &&
    book.units === filled.units &&
    book.revenue === filled.units &&
    book.usage === filled.units
  if (!right) throw new Error(`the book has ${JSON.stringify(book)}, the streams had ${JSON.stringify(filled)}`)
}

async function measure(pool: Pool, redisUrl: string, filled: Filled): Promise<number> {
  const log = pino({ level: process.env['LOG_LEVEL'] ?? 'error' })
  const begin = performance.now()
  const consumer = new SettlementConsumer({ redisUrl, pool, log, consumer: 'bench', limits })
  try {
    while (consumer.stats.receipts < filled.receipts) {
      if (performance.now() - begin > TIMEOUT_MS)
        throw new Error(`after ${TIMEOUT_MS} ms: ${JSON.stringify(consumer.stats)}`)
      await sleep(5)
    }
    return performance.now() - begin
  } finally {
    await consumer.stop()
  }
}

async function main(): Promise<void> {
  const [count = 100_000, accountCount = 1_000] = process.argv.slice(2).filter(isNumber).map(Number)
  const dir = mkdtempSync(join(tmpdir(), 'sluice-bench-settlement-'))
  // PostgreSQL runs as another user when this program runs as root.
  chmodSync(dir, 0o755)
  const postgres = await startPostgres({ dir: join(dir, 'pg'), logFile: join(dir, 'pg.log'), limits })
  const redisServer = await startRedis({ dir: join(dir, 'redis'), logFile: join(dir, 'redis.log'), limits })
  const pool = createPool(await postgres.provideDatabase('bench'), limits)
  const redis = connectRedis(redisServer.url, 'wait')
  try {
    await migrate(pool)
    const filled = await fillStreams(redis, await openAccounts(pool, accountCount), count)
    const cpu = process.cpuUsage()
    const elapsedMs = await measure(pool, redisServer.url, filled)
    const { user, system } = process.cpuUsage(cpu)
    await verify(pool, filled)
    const cpuMicrosPerReceipt = (user + system) / filled.receipts
    const result = { receipts: filled.receipts, accounts: accountCount, elapsedMs, cpuMicrosPerReceipt }
    console.log(process.argv.includes('--json') ? JSON.stringify(result) : sentence(result))
  } finally {
    redis.disconnect()
    await pool.end()
    await redisServer.process.stop()
    await postgres.process.stop()
    rmSync(dir, { recursive: true, force: true })
  }
}

function sentence({ receipts, accounts, elapsedMs, cpuMicrosPerReceipt }: SettlementResult['runs'][number]): string {
  const rate = Math.round((receipts / elapsedMs) * 1_000)
  const cpu = `control's CPU ${cpuMicrosPerReceipt.toFixed(1)} us a receipt`
  return `settlement: ${rate} receipts/s to the commit (${receipts} of ${accounts} accounts in ${Math.round(elapsedMs)} ms; ${cpu})`
}

function isNumber(text: string): boolean {
  return /^\d+$/.test(text)
}

// The servers are stopped when the process exits, which a signal alone does not make it do in order.
for (const signal of ['SIGINT', 'SIGTERM'] as const) process.on(signal, () => process.exit(1))
await main()
