// Whether the book stays as fast as it grows: booking, and the reads that customers make.
// node dist/bench/growth.js [receipts] [--json] [--dir=FOLDER]: a folder keeps the book, to be timed again on a quiet machine
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { sluice } from '../contract/wire/generated/messages.js'
import { generateNoteKey, NoteKey } from '../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../control/book/checkpoint/signCheckpoint.ts'
import { balanceOf } from '../control/book/ledger/balanceOf.ts'
import { monthStartMs } from '../control/book/partitions/idTime.ts'
import { bookBatch } from '../control/book/settlement/bookBatch.ts'
import type { Entry } from '../control/book/settlement/entry.ts'
import { ReceiptReader } from '../control/records/receipts/receiptReader.ts'
import { statementPart } from '../control/records/statements/statement.ts'
import { migrate } from '../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../control/runtime/db/pool.ts'
import { fillBook, filledAccounts, type GrowthAccount } from './growth/fill.ts'
import { limits } from './limits.ts'
import { startBookServers } from './parts/bookServers.ts'
import { entriesOf, settlementOf } from './parts/endings.ts'

const RECEIPTS = 1_000_000
/** Accounts whose reads are timed, each first once without the clock. */
const READERS = 400
const DIR_FLAG = '--dir='
/** A file that marks the book as filled. */
const FILLED = 'filled'
/** Accounts that call at a time, spread over the book: the same traffic for books of any size. */
const ACTIVE_ACCOUNTS = 1_000
const BATCHES = 160
/** The last ones are timed, after each account's pages were touched, as for accounts in daily use. */
const BATCHES_TIMED = 40
const BATCH = 1_000
const FILL_TIMEOUT_MS = 3_600_000
/** As docs/operations advises for a host of this size: the pages of a small book are in memory with any setting. */
const POSTGRES_SETTINGS = {
  shared_buffers: '4GB',
  max_wal_size: '8GB',
  checkpoint_timeout: '15min',
  random_page_cost: '1.1',
}

interface Timing {
  readonly name: string
  readonly medianMicros: number
  readonly p95Micros: number
}

/** @param times milliseconds */
function timingOf(name: string, times: readonly number[], each = 1): Timing {
  const sorted = times.toSorted((a, b) => a - b)
  const at = (part: number) => Math.round(((sorted[Math.floor(sorted.length * part)] ?? 0) * 1_000) / each)
  return { name, medianMicros: at(0.5), p95Micros: at(0.95) }
}

async function timed<T>(name: string, subjects: readonly T[], work: (subject: T) => Promise<unknown>): Promise<Timing> {
  for (const subject of subjects) await work(subject)
  const times: number[] = []
  for (const subject of subjects) {
    const begin = performance.now()
    await work(subject)
    times.push(performance.now() - begin)
  }
  return timingOf(name, times)
}

function someOf<T>(all: readonly T[], count: number): T[] {
  return Array.from({ length: count }, () => all[Math.floor(Math.random() * all.length)] as T)
}

async function timeReads(pool: Pool, reader: ReceiptReader, accounts: readonly GrowthAccount[]): Promise<Timing[]> {
  const readers = someOf(accounts, READERS)
  const ids: { requestId: string; keyId: string }[] = []
  const recent: { requestId: string; keyId: string }[] = []
  for (const { keyId } of readers) {
    const found = await pool.query<{ request_id: string }>(
      'SELECT request_id FROM receipts WHERE key_id = $1 ORDER BY request_id DESC',
      [keyId],
    )
    const own = found.rows.map((row) => ({ requestId: row.request_id, keyId }))
    recent.push(...own.slice(0, 1))
    ids.push(...someOf(own, 1))
  }
  const lastMonth = { startMs: monthStartMs(Date.now(), -1), endMs: monthStartMs(Date.now()) }
  return [
    await timed('one receipt of now', recent, ({ requestId, keyId }) => reader.single(requestId, keyId)),
    await timed('one receipt of the year', ids, ({ requestId, keyId }) => reader.single(requestId, keyId)),
    await timed('latest receipts of a key', readers, (own) => reader.list({ ...own, limit: 20, after: '' })),
    await timed('latest receipts of an account', readers, (own) =>
      reader.list({ ...own, keyId: '', limit: 20, after: '' }),
    ),
    await timed("a month's statement", readers, async ({ accountId }) => {
      const query = { accountId, ...lastMonth, form: 'csv', tag: '', user: '' } as const
      for (let next: string | undefined; next !== ''; ) {
        next = (await statementPart(pool, query, next ?? '', limits)).next
      }
    }),
    await timed('balance', readers, ({ accountId }) => balanceOf(pool, accountId)),
  ]
}

/** A batch of endings of accounts everywhere, one entry a shard. */
function batchOf(accounts: readonly GrowthAccount[], number: number): Entry[] {
  const endings = new Map<number, Uint8Array[]>()
  for (const { accountId, keyId, log } of someOf(accounts, BATCH)) {
    const settlement = settlementOf({ accountId, keyId, holdUnits: 200, chargeUnits: 100 })
    const ended = sluice.Ended.encode({ settlement, heldAtMs: Date.now(), split: 'coin=100' }).finish()
    endings.set(log, [...(endings.get(log) ?? []), ended])
  }
  return entriesOf(endings, `${Date.now()}-${number}`)
}

/** Some of the accounts, in even steps. */
function activeOf(accounts: readonly GrowthAccount[]): GrowthAccount[] {
  const step = Math.max(1, Math.floor(accounts.length / ACTIVE_ACCOUNTS))
  return accounts.filter((_, at) => at % step === 0)
}

async function timeBooking(name: string, pool: Pool, accounts: readonly GrowthAccount[]): Promise<Timing> {
  const times: number[] = []
  for (let number = 1; number <= BATCHES; number++) {
    const entries = batchOf(accounts, number)
    const begin = performance.now()
    const { receipts } = await bookBatch(pool, entries)
    times.push(performance.now() - begin)
    if (receipts !== BATCH) throw new Error(`${receipts} of ${BATCH} endings were booked`)
  }
  return timingOf(name, times.slice(-BATCHES_TIMED), BATCH)
}

async function fill(address: string, count: number, isQuiet: boolean): Promise<GrowthAccount[]> {
  const pool = createPool(address, { ...limits, databaseTimeoutMs: FILL_TIMEOUT_MS })
  const say = (text: string) => {
    if (!isQuiet) console.error(text)
  }
  try {
    return await fillBook(pool, count, say)
  } finally {
    await pool.end()
  }
}

async function main(): Promise<void> {
  const [count = RECEIPTS] = process.argv
    .slice(2)
    .filter((text) => /^\d+$/.test(text))
    .map(Number)
  const isJson = process.argv.includes('--json')
  const kept = process.argv.find((text) => text.startsWith(DIR_FLAG))?.slice(DIR_FLAG.length)
  const servers = await startBookServers('growth', { kept, settings: POSTGRES_SETTINGS })
  const { dir, pool, redis, databaseUrl } = servers
  try {
    const isFilled = existsSync(join(dir, FILLED))
    await migrate(pool)
    const accounts = isFilled ? await filledAccounts(pool) : await fill(databaseUrl, count, isJson)
    // A running control signs every second; receipts beyond the last checkpoint would be read without a proof of their head.
    await signCheckpoint(pool, NoteKey.of(generateNoteKey('bench')), limits)
    if (kept !== undefined) writeFileSync(join(dir, FILLED), '')
    const reader = new ReceiptReader(pool, redis, limits)
    const timings = [
      ...(await timeReads(pool, reader, accounts)),
      await timeBooking(`booking, ${ACTIVE_ACCOUNTS} accounts call`, pool, activeOf(accounts)),
      await timeBooking('booking, all accounts call', pool, accounts),
    ]
    const size = await pool.query<{ size: number }>('SELECT pg_database_size(current_database()) AS size')
    const result = { receipts: accounts.length * 1_000, databaseBytes: size.rows[0]?.size, timings }
    console.log(isJson ? JSON.stringify(result) : tableOf(result))
  } finally {
    await servers.stop()
  }
}

function tableOf({
  receipts,
  databaseBytes = 0,
  timings,
}: {
  receipts: number
  databaseBytes: number | undefined
  timings: readonly Timing[]
}): string {
  const lines = timings.map(({ name, medianMicros, p95Micros }) => {
    return `${name.padEnd(32)} ${String(medianMicros).padStart(8)} us ${String(p95Micros).padStart(8)} us at p95`
  })
  return [`with ${receipts} receipts in ${Math.round(databaseBytes / 2 ** 20)} MiB:`, ...lines].join('\n')
}

await main()
