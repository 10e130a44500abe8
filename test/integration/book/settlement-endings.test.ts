// Goal: what proxy processes deliver in batches is booked exactly once by owner and number, whatever is delivered again,
// cut off, or out of order.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import fc from 'fast-check'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { ledgerStream, SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { SettlementConsumer } from '../../../control/book/settlement/consumer.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { forgetOwners, noteOwner } from '../../../control/book/settlement/proxyOwners.ts'
import { limitsWith } from '../../support/limits.ts'
import { appendEndings, batchOf, endedOf } from '../../support/parts/endings.ts'
import {
  appendEnded,
  type Book,
  drainAll,
  log,
  newAccount,
  scalar,
  settlementOf,
  startBook,
  takeInHand,
  until,
} from '../../support/parts/ledger.ts'
import { present } from '../../support/present.ts'

const limits = limitsWith({
  settlementBlockMs: 100,
  settlementRetryMs: 50,
  settlementClaimIdleMs: 300,
  settlementBatchMax: 40,
  settlementReadMax: 40,
})

let book: Book
let consumer: SettlementConsumer | undefined
before(async () => {
  book = await startBook()
})
afterEach(async () => {
  await consumer?.stop()
  consumer = undefined
})
after(() => book.stop())

function startConsumer(name = 'control-1'): SettlementConsumer {
  consumer = new SettlementConsumer({ redisUrl: book.redisServer.url, pool: book.pool, log, consumer: name, limits })
  return consumer
}

const untilDrained = () =>
  until('the streams are empty', async () => {
    let left = 0
    for (let shard = 0; shard < SHARD_COUNT; shard++) left += await book.redis.xlen(ledgerStream(shard))
    return left === 0
  })
const receipts = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT count(*) FROM receipts WHERE account_id = $1', [accountId])
const coinOf = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [`coin:${accountId}`])
const isDirty = async (accountId: string) =>
  (await scalar<number>(book.pool, 'SELECT count(*) FROM admission_dirty WHERE shard = $1', [shardOf(accountId)])) > 0

/** How far an owner's endings are booked in the shard of an account. */
async function seqOf(owner: string, accountId: string): Promise<number | undefined> {
  const booked = await noteOwner(book.pool, owner)
  return booked.find(({ shard }) => shard === shardOf(accountId))?.seq ?? undefined
}

const ended = (accountId: string, charge: number, requestId?: string) => endedOf({ accountId, charge, requestId })
const someEnded = (accountId: string, count: number, charge = 10) =>
  Array.from({ length: count }, () => ended(accountId, charge))

/** A stream entry as if it had been read, without a stream. */
const handed = (accountId: string, id: string, owner: string, from: number, endings: readonly Uint8Array[]) =>
  parseEntries([{ shard: shardOf(accountId), id, fields: [Buffer.from('b'), batchOf(owner, from, endings)] }])

test('endings become receipts, charges and usage, and their owner is notified of the booked position', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  const charged = newId('req')
  await appendEndings(book.redis, accountId, owner, 1, [ended(accountId, 1_200, charged), ended(accountId, -1)])
  await appendEndings(book.redis, accountId, owner, 3, someEnded(accountId, 100))
  // A single hold of the same account, in between.
  await appendEnded(book.redis, settlementOf({ requestId: newId('req'), accountId, chargeUnits: 5 }), accountId, 5)
  startConsumer()
  await untilDrained()
  assert.equal(await coinOf(accountId), 10_000 - 1_200 - 100 * 10 - 5)
  const found = await book.pool.query(
    'SELECT status, charge_units, split, voided FROM receipts WHERE request_id = $1',
    [charged],
  )
  assert.deepEqual(found.rows, [{ status: 'ok', charge_units: 1_200, split: 'coin=1200', voided: false }])
  const usage = await book.pool.query('SELECT units, requests FROM key_usage WHERE account_id = $1', [accountId])
  assert.deepEqual(usage.rows, [{ units: 2_205, requests: 103 }])
  assert.equal(await seqOf(owner, accountId), 102)
  assert.equal(await seqOf(newId('own'), accountId), undefined)
  assert.equal(await isDirty(accountId), false)
})

test('redelivered endings, whole or in other batches, are booked once', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  const endings = someEnded(accountId, 9)
  await appendEndings(book.redis, accountId, owner, 1, endings.slice(0, 6))
  startConsumer()
  await untilDrained()
  await appendEndings(book.redis, accountId, owner, 1, endings.slice(0, 6))
  await appendEndings(book.redis, accountId, owner, 4, endings.slice(3))
  await untilDrained()
  assert.equal(await receipts(accountId), 9)
  assert.equal(await coinOf(accountId), 9_910)
  assert.equal(consumer?.tally.stats.duplicates, 9)
  assert.equal(await seqOf(owner, accountId), 9)
  assert.equal(await isDirty(accountId), true, 'Redis took charges twice, so the shard has to be loaded again')
})

test('an ending with a booked number is a duplicate even if the book has no such request', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  await appendEndings(book.redis, accountId, owner, 1, someEnded(accountId, 3))
  await appendEndings(book.redis, accountId, owner, 2, someEnded(accountId, 3))
  await drainAll(book)
  await appendEndings(book.redis, accountId, owner, 1, someEnded(accountId, 4))
  await drainAll(book)
  assert.equal(await seqOf(owner, accountId), 4)
})

test('a request that two owners report as ended is booked once', async () => {
  const accountId = await newAccount(book.pool, 10_000)
  const requestId = newId('req')
  for (const owner of [newId('own'), newId('own')]) {
    await appendEndings(book.redis, accountId, owner, 1, [ended(accountId, 10, requestId)])
    await drainAll(book)
    assert.equal(await seqOf(owner, accountId), 1)
  }
  assert.equal(await receipts(accountId), 1)
  assert.equal(await coinOf(accountId), 9_990)
})

test('after control dies between commit and acknowledgement, no ending is booked twice', async () => {
  // Other tests have marked shards, and this account may be in one of them.
  await book.pool.query('DELETE FROM admission_dirty')
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  await appendEndings(book.redis, accountId, owner, 1, someEnded(accountId, 20))
  const read = await takeInHand(book, 'crashed')
  assert.equal(read.length, 20)
  await bookEntries(book.pool, read)
  startConsumer('crashed')
  await untilDrained()
  assert.equal(await receipts(accountId), 20)
  assert.equal(consumer?.tally.stats.duplicates, 20)
  assert.equal(await isDirty(accountId), false)
})

test('control instances that book out of order leave no gap', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  const first = handed(accountId, '1-1', owner, 1, someEnded(accountId, 3))
  const second = handed(accountId, '1-2', owner, 4, someEnded(accountId, 3))
  const third = handed(accountId, '1-3', owner, 7, someEnded(accountId, 1))
  const { gaps } = await bookEntries(book.pool, second)
  assert.deepEqual(gaps, [{ owner, shard: shardOf(accountId), seq: 0, ahead: [{ first: 4, last: 6 }] }])
  assert.deepEqual((await bookEntries(book.pool, third)).gaps, [])
  assert.equal(await seqOf(owner, accountId), 0)
  assert.equal((await bookEntries(book.pool, second)).duplicates, 3)
  assert.deepEqual((await bookEntries(book.pool, first)).gaps, [])
  assert.equal(await seqOf(owner, accountId), 7)
  assert.equal(await receipts(accountId), 7)
})

test('endings that cannot be read or booked are stored one by one, with all their bytes', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  const junk = Buffer.from([0x0a, 0x7f, 0xfe])
  const nobody = endedOf({ accountId: 'acct_nobody', charge: 5 })
  // PostgreSQL alone refuses this one: the book has no room for the number.
  const early = endedOf({ accountId, charge: 5, settlement: { startedAtMs: 5, sheetVersion: 2 } })
  const refused = sluice.Ended.decode(early)
  refused.heldAtMs = Number.MAX_SAFE_INTEGER
  const late = Buffer.from(sluice.Ended.encode(refused).finish())
  const good = () => ended(accountId, 10)
  const first = good()
  await appendEndings(book.redis, accountId, owner, 1, [first, junk, good(), nobody, late, good()])
  await book.redis.xadd(ledgerStream(shardOf(accountId)), '*', 'b', junk)
  await appendEndings(book.redis, accountId, owner, 7, [good()])
  startConsumer()
  await untilDrained()
  assert.equal(await receipts(accountId), 4)
  assert.equal(await seqOf(owner, accountId), 7)
  const kept = await book.pool.query(
    'SELECT entry_id, settlement, fields FROM settlement_rejects WHERE shard = $1 ORDER BY entry_id',
    [shardOf(accountId)],
  )
  const numbers = kept.rows.map((row) => row.entry_id.split('/')[1])
  assert.deepEqual(numbers, ['2', '4', '5', undefined])
  assert.deepEqual(
    kept.rows.slice(0, 3).map((row) => row.settlement),
    [junk, nobody, late],
  )
  const ownerField = [['owner', Buffer.from(owner).toString('base64')]]
  assert.deepEqual(JSON.parse(kept.rows[0].fields), ownerField)
  assert.deepEqual(JSON.parse(kept.rows[3].fields), [['b', junk.toString('base64')]])
  // Delivered again, they are no second reject.
  await appendEndings(book.redis, accountId, owner, 1, [first, junk])
  await untilDrained()
  assert.equal(consumer?.tally.stats.rejects, 4)
  assert.equal(await receipts(accountId), 4)
})

test('a batch that the database rejects is divided without a gap', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  const endings = someEnded(accountId, 7)
  const refused = sluice.Ended.decode(endings[4] ?? Buffer.alloc(0))
  refused.heldAtMs = Number.MAX_SAFE_INTEGER
  endings[4] = Buffer.from(sluice.Ended.encode(refused).finish())
  const booked = await bookBatch(book.pool, handed(accountId, '1-1', owner, 1, endings))
  assert.deepEqual([booked.receipts, booked.rejects.length, booked.gaps], [6, 1, []])
  assert.equal(await seqOf(owner, accountId), 7)
})

test('a stream entry is removed only when all its endings are booked', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 100_000), newId('own')]
  // Larger than what one transaction is to book.
  await appendEndings(book.redis, accountId, owner, 1, someEnded(accountId, limits.settlementBatchMax + 15))
  await appendEndings(book.redis, accountId, owner, limits.settlementBatchMax + 16, someEnded(accountId, 30))
  let batches = 0
  const left: number[] = []
  consumer = new SettlementConsumer({
    redisUrl: book.redisServer.url,
    pool: book.pool,
    log,
    consumer: 'watched',
    limits,
    onBooked: () => {
      batches++
      void book.redis.xlen(ledgerStream(shardOf(accountId))).then((length) => left.push(length))
    },
  })
  await untilDrained()
  await until('both are counted', async () => left.length === 2)
  assert.equal(batches, 2)
  assert.equal(await receipts(accountId), limits.settlementBatchMax + 45)
})

test('proxies are recorded as alive, and removed after a long absence', async () => {
  const [accountId, gone, living] = [await newAccount(book.pool, 10_000), newId('own'), newId('own')]
  for (const owner of [gone, living]) {
    await bookEntries(book.pool, handed(accountId, '1-1', owner, 1, [ended(accountId, 1)]))
    assert.equal(await seqOf(owner, accountId), 1)
  }
  const rows = (table: string, owner: string) =>
    scalar<number>(book.pool, `SELECT count(*) FROM ${table} WHERE owner = $1`, [owner])
  await book.pool.query(`UPDATE owner_positions SET booked_at = now() - interval '90 days'`)
  await book.pool.query(`UPDATE proxy_owners SET seen_at = now() - interval '25 hours' WHERE owner = $1`, [gone])
  await forgetOwners(book.pool, limits)
  assert.deepEqual([await rows('proxy_owners', gone), await rows('owner_positions', gone)], [0, 0])
  assert.deepEqual([await rows('proxy_owners', living), await rows('owner_positions', living)], [1, 1])
})

test('every ending is booked once for any redelivery, in any batches and order', async () => {
  const LAST = 12
  const piece = fc.record({
    owner: fc.nat({ max: 1 }),
    from: fc.integer({ min: 1, max: LAST }),
    count: fc.integer({ min: 1, max: 6 }),
    isLost: fc.boolean(),
  })
  let entries = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.array(piece, { minLength: 1, maxLength: 3 }), { maxLength: 8 }), async (batches) => {
      const accountId = await newAccount(book.pool, 10_000)
      const owners = [0, 1].map(() => ({
        id: newId('own'),
        endings: someEnded(accountId, LAST),
        booked: new Set<number>(),
      }))
      for (const batch of batches) {
        const handedOver = batch.flatMap(({ owner, from, count }) => {
          const { id, endings } = present(owners[owner])
          return handed(accountId, `2-${++entries}`, id, from, endings.slice(from - 1, from - 1 + count))
        })
        for (const { delivered } of handedOver) {
          owners.find(({ id }) => id === delivered?.owner)?.booked.add(delivered?.seq ?? 0)
        }
        await bookBatch(book.pool, handedOver)
        // The answer to the commit was lost.
        if (batch[0]?.isLost) await bookBatch(book.pool, handedOver)
      }
      for (const { id, booked } of owners) {
        let seq = 0
        while (booked.has(seq + 1)) seq++
        assert.equal((await seqOf(id, accountId)) ?? 0, seq)
      }
      const booked = owners.reduce((sum, owner) => sum + owner.booked.size, 0)
      assert.equal(await receipts(accountId), booked)
      assert.equal(await coinOf(accountId), 10_000 - booked * 10)
    }),
    { numRuns: 40 },
  )
})
