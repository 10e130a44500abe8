// Goal: a monitor that knows nothing of the gateway follows the logs by their tiles, and notices one that was forged or
// rewound, also when everything in the database fits together again.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { logFile } from '../../../control/book/checkpoint/logFiles.ts'
import { generateNoteKey, NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { leafHash } from '../../../control/book/usagelog/merkle.ts'
import { limitsWith } from '../../support/limits.ts'
import { type FileReader, LogMonitor, tilePath } from '../../support/logMonitor.ts'
import { batchOf, endedOf } from '../../support/parts/endings.ts'
import { makeLogFit, type Statement, tamperWith } from '../../support/parts/forgedLog.ts'
import { assertCleanAudit, type Book, ensureOpen, newAccount, startBook } from '../../support/parts/ledger.ts'
import { present } from '../../support/present.ts'

const KEY = NoteKey.of(generateNoteKey('gateway.example.com/v1/log'))
const limits = limitsWith({ checkpointMs: 0 })

let book: Book
let accountId: string
let shard: number
before(async () => {
  book = await startBook()
  accountId = await newAccount(book.pool, 1_000_000)
  shard = shardOf(accountId)
})
after(() => book.stop())

let entries = 0
async function grow(count: number): Promise<void> {
  const endings = Array.from({ length: count }, () => endedOf({ accountId, charge: 1 }))
  const fields = [Buffer.from('b'), batchOf(newId('own'), 1, endings)]
  await bookEntries(book.pool, parseEntries([{ shard, id: `1-${++entries}`, fields }]))
  await signCheckpoint(book.pool, KEY, limits)
}

async function read(path: string): Promise<Buffer> {
  const file = present(await logFile(book.pool, path, KEY))
  return Buffer.from(present(file.content ?? undefined))
}

const readShard: FileReader = (path) => read(`${shard}/${path}`)
const monitorOf = (): LogMonitor => new LogMonitor(readShard, KEY.named(`${KEY.name}/${shard}`).verifier())
/** The last checkpoint of the log of heads is served by another route. */
const readHeads: FileReader = async (path) => {
  if (path !== 'checkpoint') return read(path)
  const found = await book.pool.query<{ note: string }>('SELECT note FROM checkpoints ORDER BY size DESC LIMIT 1')
  return Buffer.from(present(found.rows[0]).note)
}

const tamper = (...statement: Statement): Promise<void> => tamperWith(book.pool, statement)
const makeFit = (): Promise<void> => makeLogFit(book.pool, shard, true)

test('tile names follow C2SP', () => {
  assert.deepEqual([0, 999, 1_000, 1_234_067].map(tilePath), ['000', '999', 'x001/000', 'x001/x234/067'])
})

test('monitors follow a shard and the log of heads through partial and full tiles', async () => {
  const [ofShard, ofHeads] = [monitorOf(), new LogMonitor(readHeads, KEY.verifier())]
  for (const count of [1, 5, 250, 1, 300, 2, 700]) {
    await grow(count)
    await ofShard.follow()
    await ofHeads.follow()
  }
  assert.deepEqual([ofShard.size, ofHeads.size], [1_259, 7])
  await monitorOf().follow()
})

test('only signed entries are in tiles, each under one name', async () => {
  const missing = [
    'tile/0/x000/000',
    'tile/0/000.p/0',
    'tile/0/000.p/256',
    'tile/0/0',
    'tile/00/000',
    'tile/9/000',
    'tile/0/001',
    `${shard}/tile/0/004.p/236`,
    `${shard}/tile/1/000.p/5`,
    `${(shard + 1) % 64}/checkpoint`,
    '65/checkpoint',
    `0${shard}/checkpoint`,
    'checkpoint',
    `${shard}/tile/0/${'x999/'.repeat(4)}999`,
    `${shard}/tile/0/${'x999/'.repeat(5)}999`,
    'tile/entries/000',
  ]
  for (const path of missing) assert.equal(await logFile(book.pool, path, KEY), undefined, path)
  assert.equal((await readShard('tile/0/004.p/235')).length, 235 * 32)
  assert.equal((await readShard('tile/1/000.p/4')).length, 4 * 32)
  assert.equal(await logFile(book.pool, `${shard}/checkpoint`, undefined), undefined)
})

test('booked entries that are not signed yet are not published', async () => {
  const fields = [Buffer.from('b'), batchOf(newId('own'), 1, [endedOf({ accountId, charge: 1 })])]
  await bookEntries(book.pool, parseEntries([{ shard, id: `1-${++entries}`, fields }]))
  assert.equal(await logFile(book.pool, `${shard}/tile/0/004.p/236`, KEY), undefined)
  await signCheckpoint(book.pool, KEY, limits)
  assert.equal((await readShard('tile/0/004.p/236')).length, 236 * 32)
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('a forged log is detected at any entry', async () => {
  const [kept, other] = [monitorOf(), monitorOf()]
  await kept.follow()
  await other.follow()
  const forge = (position: number, leaf: Buffer) =>
    tamper('UPDATE receipts SET leaf_hash = $1 WHERE log = $2 AND position = $3', [leaf, shard, position])
  // In a full tile that the monitor has read before, which it does not read again.
  await forge(3, leafHash('another receipt'))
  await makeFit()
  await assert.rejects(kept.follow(), /do not have the root/)
  await monitorOf().follow()
  await grow(20)
  await assert.rejects(kept.follow(), /do not have the root|was changed/)
  // In the partial tile, which it reads on in.
  await forge(1_259, leafHash('another receipt'))
  await makeFit()
  await assert.rejects(other.follow(), /was changed/)
})

test('a rewound log is detected, also after it has grown again', async () => {
  const monitor = monitorOf()
  await monitor.follow()
  const size = monitor.size
  await tamper('DELETE FROM receipts WHERE log = $1 AND position >= $2', [shard, size - 5])
  await tamper('UPDATE log_heads SET size = size - 5 WHERE log = $1 AND size = $2', [shard, size])
  await makeFit()
  await assert.rejects(monitor.follow(), /was rewound from/)
  await grow(12)
  await assert.rejects(monitor.follow(), /do not have the root|was changed/)
})
