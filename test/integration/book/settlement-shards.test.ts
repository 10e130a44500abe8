// Goal: shards are booked side by side, on several connections and by several controls.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { type Logger, pino } from 'pino'
import { newId } from '../../../contract/wire/ids.ts'
import { SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { BookedShards } from '../../../control/book/settlement/bookedShards.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { ensureGroups, readGroup } from '../../../control/book/settlement/streamReader.ts'
import { limitsWith } from '../../support/limits.ts'
import { appendEndings, batchOf, endedOf } from '../../support/parts/endings.ts'
import {
  assertCleanAudit,
  type Book,
  ensureOpen,
  log,
  newAccount,
  scalar,
  startBook,
  until,
} from '../../support/parts/ledger.ts'

const limits = limitsWith({
  settlementBlockMs: 50,
  settlementDivideMin: 10,
  settlementClaimIdleMs: 60_000,
  bookerBeatMs: 50,
  bookerLeaseMs: 500,
})

let book: Book
let consumers: SettlementConsumer[] = []
before(async () => {
  book = await startBook()
})
afterEach(async () => {
  await Promise.all(consumers.map((consumer) => consumer.stop()))
  consumers = []
})
after(() => book.stop())

function startConsumer(consumer: string, told: Logger = log): SettlementConsumer {
  const started = new SettlementConsumer({
    redisUrl: book.redisServer.url,
    pool: book.pool,
    log: told,
    consumer,
    limits,
  })
  consumers.push(started)
  return started
}

/** Accounts that are each in a shard of its own, the lowest shard first. */
async function accountsApart(count: number): Promise<string[]> {
  const byShard = new Map<number, string>()
  while (byShard.size < count) {
    const accountId = await newAccount(book.pool, 100_000)
    byShard.set(shardOf(accountId), accountId)
  }
  return [...byShard].sort(([a], [b]) => a - b).map(([, accountId]) => accountId)
}

const handed = (accountId: string, owner: string, from: number, endings: readonly Uint8Array[]) =>
  parseEntries([
    { shard: shardOf(accountId), id: `${from}-1`, fields: [Buffer.from('b'), batchOf(owner, from, endings)] },
  ])
const receipts = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT count(*) FROM receipts WHERE account_id = $1', [accountId])
const waiting = () =>
  scalar<number>(
    book.pool,
    `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`,
  )
const shardsOf = (booker: string) =>
  scalar<number>(book.pool, 'SELECT count(*) FROM booked_shards WHERE booker = $1', [booker])

/** Runs `work` while an uncommitted transaction has done `sql`, then rolls that back, or commits it. */
async function during<T>(sql: string, work: () => Promise<T>, finish: 'ROLLBACK' | 'COMMIT' = 'ROLLBACK'): Promise<T> {
  const blocker = await book.pool.connect()
  try {
    await blocker.query('BEGIN')
    await blocker.query(sql)
    return await work()
  } finally {
    await blocker.query(finish)
    blocker.release()
  }
}

test('a shard is booked while another is blocked', async () => {
  const [stuck = '', free = ''] = await accountsApart(2)
  let booking: Promise<unknown> | undefined
  await during(`SELECT FROM ledger_accounts WHERE id = 'coin:${stuck}' FOR UPDATE`, async () => {
    booking = bookEntries(book.pool, handed(stuck, newId('own'), 1, [endedOf({ accountId: stuck, charge: 7 })]))
    await until('the booking waits', async () => (await waiting()) === 1)
    await bookEntries(book.pool, handed(free, newId('own'), 1, [endedOf({ accountId: free, charge: 7 })]))
    assert.deepEqual([await receipts(stuck), await receipts(free)], [0, 1])
  })
  await booking
  assert.equal(await receipts(stuck), 1)
})

test('batches of the same shards, in any order, never deadlock', async () => {
  const accounts = await accountsApart(6)
  const owner = newId('own')
  const batch = (ids: readonly string[], from: number) =>
    ids.flatMap((accountId) => handed(accountId, owner, from, [endedOf({ accountId, charge: 1 })]))
  const turned = accounts.toReversed()
  let written = 0
  // Each has a connection of its own: one that waited for others to be done would fail after seconds.
  const bookThree = async (first: number): Promise<void> => {
    for (let i = first; i < 24; i += 8) {
      const booked = await bookEntries(book.pool, batch(i % 2 === 0 ? accounts : turned, i + 1))
      written += booked.receipts
    }
  }
  await Promise.all(Array.from({ length: 8 }, (_, first) => bookThree(first)))
  assert.equal(written, 24 * accounts.length)
})

test('a request that ends in two shards concurrently is booked in one of them', async () => {
  const [first = '', second = ''] = await accountsApart(2)
  const requestId = newId('req')
  await bookEntries(book.pool, handed(second, newId('own'), 1, [endedOf({ accountId: second, charge: 4 })]))
  const copy = `
    INSERT INTO receipts SELECT (jsonb_populate_record(r, jsonb_build_object(
      'request_id', '${requestId}', 'position', 1000000, 'leaf_hash', r.leaf_hash))).*
    FROM receipts r WHERE account_id = '${second}'`
  let booking: ReturnType<typeof bookBatch> | undefined
  await during(
    copy,
    async () => {
      const entries = handed(first, newId('own'), 1, [endedOf({ accountId: first, charge: 4, requestId })])
      booking = bookBatch(book.pool, entries)
      await until('the booking waits', async () => (await waiting()) === 1)
    },
    'COMMIT',
  )
  const booked = await booking
  assert.deepEqual([booked?.receipts, booked?.duplicates, booked?.rejects], [0, 1, []])
  await book.pool.query('ALTER TABLE receipts DISABLE TRIGGER receipts_append_only')
  await book.pool.query('DELETE FROM receipts WHERE request_id = $1', [requestId])
  await book.pool.query('ALTER TABLE receipts ENABLE TRIGGER receipts_append_only')
})

test('a large read is booked by shards, each in its order', async () => {
  const accounts = await accountsApart(8)
  for (let round = 0; round < 5; round++) {
    for (const accountId of accounts) {
      const endings = Array.from({ length: 10 }, () => endedOf({ accountId, charge: 2 }))
      await appendEndings(book.redis, accountId, `own_${accountId}`, round * 10 + 1, endings)
    }
  }
  const consumer = startConsumer('divides')
  await until('all is booked', async () => consumer.tally.stats.receipts === 400)
  assert.ok(consumer.tally.stats.batches > 1)
  for (const accountId of accounts) assert.equal(await receipts(accountId), 50)
})

test('control instances share the shards, and hand them over when one starts, stops, or misses its heartbeat', async () => {
  const [one, other] = [newId('own'), newId('own')]
  const first = startConsumer(one)
  await until('the first has all', async () => (await shardsOf(one)) === SHARD_COUNT)
  const second = startConsumer(other)
  const halves = async () => [await shardsOf(one), await shardsOf(other)].every((shards) => shards === SHARD_COUNT / 2)
  await until('both have half', halves)
  const counts = async () =>
    [first, second].map(({ leases }) => leases.shards.length).join() === `${SHARD_COUNT / 2},${SHARD_COUNT / 2}`
  await until('each says so', counts)
  await first.stop()
  await until('the second has all', async () => (await shardsOf(other)) === SHARD_COUNT)
  await until('it says so', async () => second.leases.shards.length === SHARD_COUNT)
  // One that stands still: it has shards, and gives no sign of life any more.
  const silent = new BookedShards(book.pool, newId('own'), limits)
  let beatenMs = 0
  await until('it is given a part', async () => {
    if (silent.isDue) {
      beatenMs = performance.now()
      const { surplus } = await silent.renew()
      if (surplus.length > 0) await silent.giveBack(surplus)
    }
    return silent.shards.length === SHARD_COUNT / 2
  })
  const [accountId = ''] = await accountsApart(1)
  await until('the second has all again', async () => (await shardsOf(other)) === SHARD_COUNT)
  assert.ok(performance.now() - beatenMs > limits.bookerLeaseMs / 2)
  await appendEndings(book.redis, accountId, newId('own'), 1, [endedOf({ accountId, charge: 1 })])
  await until('it is booked', async () => (await receipts(accountId)) === 1)
  await second.stop()
})

test('pending entries of a dead control are taken over with its shards', async () => {
  const [accountId = ''] = await accountsApart(1)
  const dead = newId('own')
  const leases = new BookedShards(book.pool, dead, limits)
  await leases.renew()
  const endings = Array.from({ length: 5 }, () => endedOf({ accountId, charge: 1 }))
  await appendEndings(book.redis, accountId, newId('own'), 1, endings)
  await ensureGroups(book.redis)
  assert.equal((await readGroup(book.redis, dead, '>', { countPerStream: 10 })).length, 1)
  const lines: { readonly event?: string; readonly shards?: readonly number[] }[] = []
  startConsumer(newId('own'), pino({}, { write: (line: string) => void lines.push(JSON.parse(line)) }))
  // Long before entries of living controls would be taken for left behind.
  await until('it is booked', async () => (await receipts(accountId)) === 5, limits.settlementClaimIdleMs / 2)
  // The log names each shard once, when it is taken over.
  const taken = lines.filter(({ event }) => event === 'settlement_shards_taken').flatMap(({ shards = [] }) => shards)
  assert.deepEqual(
    taken.sort((a, b) => a - b),
    Array.from({ length: SHARD_COUNT }, (_, shard) => shard),
  )
})

test('the book is consistent after all these tests', async () => {
  await ensureOpen(book)
  await assertCleanAudit(book)
})
