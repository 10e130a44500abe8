import assert from 'node:assert/strict'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { monthStartMs } from '../../../control/book/partitions/idTime.ts'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import type { Booked } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { ArchiveError } from '../../../control/records/archive/archiveError.ts'
import type { Manifest } from '../../../control/records/archive/archiveFile.ts'
import { type ArchiveOptions, archiveMonth } from '../../../control/records/archive/archiveMonth.ts'
import type { Pool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../limits.ts'
import { makeTempDir, removeTempDir } from '../tempDir.ts'
import { countAll } from './countAll.ts'
import { batchOf, endedOf } from './endings.ts'
import { type Book, ensureOpen, scalar, startBook } from './ledger.ts'
import { addPastMonths } from './pastMonths.ts'

/** Months before the present one with partitions of their own; what is earlier lies together. */
const PAST = 4

interface Request {
  readonly id: string
  readonly accountId: string
}

/** A book that has receipts of half a year, and the folder of its archives. Months are given as seen from the present one. */
export class ArchiveWorld {
  readonly months = [-5, -4, -3, -2, -1, 0]
  readonly book: Book
  readonly dir: string = makeTempDir('archive')
  readonly accountIds: string[] = []
  readonly requests: Map<number, Request[]> = new Map()
  private readonly nowMs = Date.now()
  private lastEntry = 0

  private constructor(book: Book) {
    this.book = book
  }

  static async start(): Promise<ArchiveWorld> {
    const world = new ArchiveWorld(await startBook())
    await addPastMonths(world.book.pool, PAST)
    await ensureOpen(world.book)
    await world.fill()
    await ensureOpen(world.book)
    return world
  }

  async stop(): Promise<void> {
    await this.book.stop()
    removeTempDir(this.dir)
  }

  /** A moment in a month. */
  at(month: number): number {
    return monthStartMs(this.nowMs, month) + 3_600_000
  }

  name(month: number): string {
    return new Date(this.at(month)).toISOString().slice(0, 7)
  }

  /** Notes a request of a month, which is booked later. */
  newRequest(month: number, accountId: string = this.accountIds[0] ?? ''): string {
    const id = newId('req', this.at(month))
    this.requests.set(month, [...(this.requests.get(month) ?? []), { id, accountId }])
    return id
  }

  idsOf(month: number): string[] {
    return (this.requests.get(month) ?? []).map(({ id }) => id)
  }

  /** Books requests of an account as one batch, and counts them for its referrer. */
  async settle(accountId: string, requestIds: readonly string[], pool: Pool = this.book.pool): Promise<Booked> {
    const endings = requestIds.map((requestId, i) => endedOf({ accountId, charge: i % 7 === 0 ? -1 : 3, requestId }))
    const fields = [Buffer.from('b'), batchOf(newId('own'), 1, endings)]
    const raw = { shard: shardOf(accountId), id: `${this.nowMs}-${++this.lastEntry}`, fields }
    const booked = await bookBatch(pool, parseEntries([raw]))
    await countAll(pool)
    return booked
  }

  archive(month: number, changes: Partial<ArchiveOptions> = {}): Promise<Manifest> {
    const { pool, redis } = this.book
    return archiveMonth({ pool, redis, dir: this.dir, limits, ...changes }, this.name(month))
  }

  /** How many receipts of a month are in the database. */
  kept(month: number): Promise<number> {
    return scalar(this.book.pool, 'SELECT count(*) FROM receipts WHERE request_id = ANY ($1)', [this.idsOf(month)])
  }

  private async fill(): Promise<void> {
    const { pool } = this.book
    for (let i = 0; i < 3; i++) this.accountIds.push(await openNewAccount(pool, limits, { coinNanos: 1_000_000 }))
    // What a referred account is charged stays counted when its receipts are gone.
    await pool.query(
      `INSERT INTO referrals (id, account_id, referrer_id, network, from_positions)
       SELECT $1, $2, $3, 'test', array_fill(0::bigint, ARRAY[65])`,
      [newId('rfl'), this.accountIds[0], this.accountIds[1]],
    )
    for (const accountId of this.accountIds) {
      for (const count of [1, 130, 420]) {
        // Months overlap in their logs, as requests end in another order than they began.
        const months = Array.from({ length: count }, (_, i) => (i % 50 === 49 ? -5 : Math.floor((i * 6) / count) - 5))
        await this.settle(
          accountId,
          months.map((month) => this.newRequest(month, accountId)),
        )
      }
    }
  }
}

/** For `assert.rejects`: a month is not archived, because of this. */
export const refused = (because: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ArchiveError, String(error))
  assert.match(error.message, because)
  return true
}
