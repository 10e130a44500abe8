import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { ledgerStream, shardOf } from '../../../contract/wire/redisKeys.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntry } from '../../../control/book/settlement/entry.ts'
import { inclusionPath, inclusionProof, rootAt, Tiles } from '../../../control/book/usagelog/inclusionProof.ts'
import { type LeafReader, leavesOf } from '../../../control/book/usagelog/leafReads.ts'
import { leafHash, verifyInclusion } from '../../../control/book/usagelog/merkle.ts'
import { compiled } from '../../../control/launch/paths.ts'
import { tamperWith } from '../../support/parts/forgedLog.ts'
import { type Book, newAccount, scalar, settlementOf, startBook } from '../../support/parts/ledger.ts'

const MIGRATION = compiled('control/runtime/db/migrations/0370_log_nodes.sql')

let book: Book
let accountId: string
before(async () => {
  book = await startBook()
  accountId = await newAccount(book.pool, 1_000_000_000)
})
after(() => book.stop())

let lastId = 0
async function bookReceipts(count: number): Promise<void> {
  const shard = shardOf(accountId)
  assert.ok(ledgerStream(shard))
  const entries = Array.from({ length: count }, () => {
    const settlement = settlementOf({ requestId: newId('req'), accountId, chargeUnits: 3 })
    const fields = ['e', settlement, 'c', '3', 't', '1700000000000', 's', 'coin=3'].map((field) => Buffer.from(field))
    lastId++
    return parseEntry({ shard, id: `${lastId}-0`, fields })
  })
  await bookEntries(book.pool, entries)
}

const leafAt = (position: number) => ({ log: shardOf(accountId), position, requestId: newId('req') })

async function proves(position: number): Promise<void> {
  const proof = await inclusionProof(book.pool, leafAt(position))
  assert.ok(proof)
  const bytes = (hex: string) => Buffer.from(hex, 'hex')
  const hashes = proof.proof.map(bytes)
  assert.ok(verifyInclusion(bytes(proof.leaf), position, proof.tree_size, hashes, bytes(proof.root)), `${position}`)
  assert.ok(!verifyInclusion(leafHash('another'), position, proof.tree_size, hashes, bytes(proof.root)))
}

test('every receipt proves its position for any batch sizes', async () => {
  for (const count of [1, 1, 2, 3, 249, 1, 255, 300, 7]) {
    await bookReceipts(count)
    const size = await scalar<number>(book.pool, 'SELECT size FROM usage_log_heads WHERE log = $1', [
      shardOf(accountId),
    ])
    for (const position of new Set([0, 1, size >> 1, 255, 256, size - 2, size - 1])) {
      if (position >= 0 && position < size) await proves(position)
    }
  }
  for (let position = 0; position < 819; position += 13) await proves(position)
})

test('positions outside the log return no entry', async () => {
  const size = await scalar<number>(book.pool, 'SELECT size FROM usage_log_heads WHERE log = $1', [shardOf(accountId)])
  for (const position of [size, -1, 0.5, Number.NaN])
    assert.equal(await inclusionProof(book.pool, leafAt(position)), undefined)
})

test('a proof reads the leaves of a tile together where nodes of 16 leaves are missing', async () => {
  await bookReceipts(300)
  await tamperWith(book.pool, ['DELETE FROM usage_log_nodes WHERE level = 4', []])
  const size = await scalar<number>(book.pool, 'SELECT size FROM usage_log_heads WHERE log = $1', [shardOf(accountId)])
  const head = { size, root: await rootAt(book.pool, shardOf(accountId), size, leavesOf(shardOf(accountId))) }
  const ranges: number[][] = []
  const leaves: LeafReader = (client, from, until) => {
    ranges.push([from, until])
    return leavesOf(shardOf(accountId))(client, from, until)
  }
  const path = await inclusionPath(new Tiles(book.pool, shardOf(accountId), size, leaves), 17, size)
  const leaf = await leavesOf(shardOf(accountId))(book.pool, 17, 18)
  const hashes = path.map((hash) => Buffer.from(hash, 'hex'))
  assert.ok(verifyInclusion(leaf[0] as Buffer, 17, size, hashes, head.root))
  // The 16 leaves beside it, the tile of it, and the last leaves of the log.
  assert.deepEqual(ranges.slice(0, 1), [[16, 32]])
  assert.ok(
    ranges.some(([from, until]) => from === 0 && until === 256),
    JSON.stringify(ranges),
  )
  assert.ok(ranges.length <= 4, JSON.stringify(ranges))
})

test('after 66,000 receipts all stored levels are used; proofs hold without those between tiles, which the migration adds', async () => {
  for (let i = 0; i < 33; i++) await bookReceipts(2_000)
  const size = await scalar<number>(book.pool, 'SELECT size FROM usage_log_heads WHERE log = $1', [shardOf(accountId)])
  assert.equal(await scalar(book.pool, 'SELECT count(*) FROM usage_log_nodes WHERE level = 16'), 1)
  const positions = [0, 65_535, 65_536, 12_345, size - 1]
  for (const position of positions) await proves(position)

  const between = async () => {
    const found = await book.pool.query('SELECT log, index, hash FROM usage_log_nodes WHERE level = 12 ORDER BY index')
    return found.rows
  }
  const kept = await between()
  assert.equal(kept.length, 16)
  // As an older version leaves them out that books until some moment, which may be within a group.
  for (const before of [7, 20_000]) {
    await tamperWith(book.pool, ['DELETE FROM usage_log_nodes WHERE level IN (4, 12, 20) AND index < $1', [before]])
    for (const position of [...positions, 20, 130, 7 * 4_096, 8 * 4_096]) await proves(position)
  }
  const [, combine = ''] = readFileSync(MIGRATION, 'utf8').split('CHECK (level IN (4, 8, 12, 16, 20, 24));')
  await tamperWith(book.pool, [combine, []])
  assert.deepEqual(await between(), kept)
  for (const position of positions) await proves(position)
})
