// Goal: endings reach the book although the position of their owner says that they are booked, and what was rejected stays
// one reject. Method: positions are raised behind the book's back, and endings are booked as if they had been read.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import { type Booked, bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { batchOf, endedOf } from '../../support/parts/endings.ts'
import { type Book, newAccount, scalar, startBook } from '../../support/parts/ledger.ts'

let book: Book
before(async () => {
  book = await startBook()
})
after(() => book.stop())

const receiptsOf = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT count(*) FROM receipts WHERE account_id = $1', [accountId])
const coinOf = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT balance FROM ledger_accounts WHERE id = $1', [`coin:${accountId}`])
const seqOf = (owner: string) => scalar<number>(book.pool, 'SELECT seq FROM owner_positions WHERE owner = $1', [owner])
const someEnded = (accountId: string, count: number) =>
  Array.from({ length: count }, () => endedOf({ accountId, charge: 10 }))

/** A stream entry as if it had been read, without a stream. */
const handed = (accountId: string, id: string, owner: string, from: number, endings: readonly Uint8Array[]) =>
  parseEntries([{ shard: shardOf(accountId), id, fields: [Buffer.from('b'), batchOf(owner, from, endings)] }])

/** The units by account that a batch has charged. */
function spentIn({ spending }: Booked): [string, number][] {
  const sums = new Map<string, number>()
  for (const { accountId, units } of spending) sums.set(accountId, (sums.get(accountId) ?? 0) + units)
  return [...sums]
}

test('a position that is too high keeps no ending from the book, and a reject is still named once', async () => {
  const [accountId, owner] = [await newAccount(book.pool, 10_000), newId('own')]
  const endings = someEnded(accountId, 6)
  await bookEntries(book.pool, handed(accountId, '1-1', owner, 1, endings.slice(0, 2)))
  await book.pool.query(`UPDATE owner_positions SET seq = 5, ahead = '{7,8}' WHERE owner = $1`, [owner])
  const junk = Buffer.from([0x0a, 0x7f, 0xfe])
  const late = () => handed(accountId, '1-2', owner, 2, [...endings.slice(1), junk, ...someEnded(accountId, 1)])
  const again = late()
  const booked = await bookBatch(book.pool, again)
  assert.deepEqual([booked.receipts, booked.duplicates, booked.rejects.length], [5, 1, 1])
  assert.deepEqual(spentIn(booked), [[accountId, 50]])
  assert.equal(await receiptsOf(accountId), 7)
  assert.equal(await coinOf(accountId), 10_000 - 7 * 10)
  const repeated = await bookBatch(book.pool, again)
  assert.deepEqual([repeated.receipts, repeated.duplicates, repeated.rejects.length], [0, 7, 0])
  assert.deepEqual(spentIn(repeated), [])
  assert.equal(await seqOf(owner), 8)
})
