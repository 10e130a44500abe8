// Goal: old checkpoints and entries of the log of heads go, and nothing that a proof needs goes with them: every receipt is
// still proved, and every checkpoint that somebody has kept is proved to be contained in the last one.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { newId } from '../../../contract/wire/ids.ts'
import { SHARD_COUNT, shardOf } from '../../../contract/wire/redisKeys.ts'
import { housekeeper } from '../../../control/api/housekeeper.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { consistencyProof, lastCheckpoint } from '../../../control/book/checkpoint/checkpointReads.ts'
import { forgetCheckpoints } from '../../../control/book/checkpoint/forgetCheckpoints.ts'
import { logFile } from '../../../control/book/checkpoint/logFiles.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { leafHash } from '../../../control/book/usagelog/merkle.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits, limitsWith } from '../../support/limits.ts'
import { TEST_LOG_KEY, TEST_LOG_VERIFIER } from '../../support/logKey.ts'
import { LogMonitor } from '../../support/logMonitor.ts'
import { type ReadCheckpoint, readCheckpoint } from '../../support/noteVerifier.ts'
import { batchOf, endedOf } from '../../support/parts/endings.ts'
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
import { assertProved } from '../../support/parts/proofs.ts'
import { itemOf, present } from '../../support/present.ts'
import { isConsistent } from '../../support/referenceTree.ts'

const KEY = NoteKey.of(TEST_LOG_KEY)
const ACCOUNTS = 60
const ROUNDS = 32
const TILE = 256
const limits = limitsWith({ checkpointMs: 0, checkpointsForgottenMax: 7, headTilesForgottenMax: 1 })

let book: Book
/** The first of them, and no other in its shard, has one receipt of long ago. */
let accounts: string[]
/** All checkpoints, as somebody has kept them. */
const kept: ReadCheckpoint[] = []

before(async () => {
  book = await startBook()
  const first = await newAccount(book.pool, 10_000)
  const others: string[] = []
  while (others.length < ACCOUNTS) {
    const accountId = await newAccount(book.pool, 10_000)
    if (shardOf(accountId) !== shardOf(first)) others.push(accountId)
  }
  accounts = others
  await bookFor([first], 0)
  for (let round = 1; round <= ROUNDS; round++) await bookFor(accounts, round)
})
after(() => book.stop())

async function bookFor(accountIds: readonly string[], round: number): Promise<void> {
  const endings = accountIds.map((accountId, at) => ({
    shard: shardOf(accountId),
    id: `${round + 1}-${at}`,
    fields: [Buffer.from('b'), batchOf(newId('own'), 1, [endedOf({ accountId, charge: 1 })])],
  }))
  await bookEntries(book.pool, parseEntries(endings))
  await signCheckpoint(book.pool, KEY, limits)
  kept.push(readCheckpoint(present(await lastCheckpoint(book.pool)).note, TEST_LOG_VERIFIER))
}

/** Runs SQL with all triggers off. */
async function tamper(sql: string, values: unknown[] = []): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql, values)
  })
}

const bytes = (hex: string): Buffer => Buffer.from(hex, 'hex')
const count = (table: string) => scalar<number>(book.pool, `SELECT count(*) FROM ${table}`)
const file = (path: string) => logFile(book.pool, path, KEY)

async function assertAllProved(): Promise<void> {
  const last = itemOf(kept, kept.length - 1)
  for (const earlier of kept) {
    const proof = present(await consistencyProof(book.pool, earlier.size, last.size))
    assert.ok(isConsistent(earlier, last, proof.map(bytes)), `${earlier.size} in ${last.size}`)
  }
  for (let log = 0; log < SHARD_COUNT; log++) {
    const size = await scalar<number>(book.pool, 'SELECT size FROM usage_log_heads WHERE log = $1', [log])
    for (let position = 0; position < size; position += 13) await assertProved(book.pool, log, position)
  }
  const read = async (path: string): Promise<Buffer> => {
    if (path === 'checkpoint') return Buffer.from(present(await lastCheckpoint(book.pool)).note)
    return Buffer.from(present(present(await file(path)).content ?? undefined))
  }
  const monitor = new LogMonitor(read, KEY.verifier())
  await monitor.follow()
  assert.equal(monitor.size, last.size)
}

async function forgetAll(): Promise<void> {
  for (let pass = 0; pass < 100; pass++) if (!(await forgetCheckpoints(book.pool, limits))) return
  assert.fail('there is no end of it')
}

/** Tiles and checkpoints that are old, as a rough measure of what is left to do. */
async function forgettable(): Promise<number> {
  const tiles = await count('log_head_tiles')
  return (await count('checkpoints')) - 1 + (tiles === 0 ? 1 : 0)
}

async function assertEntries(tile: number, width: number): Promise<void> {
  const suffix = `${String(tile).padStart(3, '0')}${width === TILE ? '' : `.p/${width}`}`
  const { content } = present(await file(`tile/entries/${suffix}`))
  const hashes = Buffer.from(present(present(await file(`tile/0/${suffix}`)).content ?? undefined))
  const bundle = Buffer.from(present(content ?? undefined))
  let [at, entries] = [0, 0]
  for (; at < bundle.length; entries++) {
    const length = bundle.readUInt16BE(at)
    const entry = bundle.toString('utf8', at + 2, at + 2 + length)
    assert.match(entry, /^sluice-head\/1\n\d+\n\d+\n[A-Za-z0-9+/=]{44}\n$/)
    assert.ok(leafHash(entry).equals(hashes.subarray(entries * 32, (entries + 1) * 32)))
    at += 2 + length
  }
  assert.deepEqual([at, entries], [bundle.length, width])
}

test('the entries of the log of heads are listed in bundles', async () => {
  const { size } = itemOf(kept, kept.length - 1)
  assert.ok(size > 3 * TILE, `${size} heads`)
  await assertEntries(0, TILE)
  await assertEntries(2, TILE)
  await assertEntries(1, 7)
  await assertEntries(Math.floor(size / TILE), size % TILE)
  for (const path of ['999', '000.p/0', '000.p/256', `${'x999/'.repeat(4)}999`, 'x000/001']) {
    assert.equal(await file(`tile/entries/${path}`), undefined, path)
  }
  assert.equal(await file(`0/tile/entries/000.p/1`), undefined)
  assert.equal(await file(`tile/entries/${String(Math.floor(size / TILE)).padStart(3, '0')}`), undefined)
})

test('entries are not pruned before their time, and other deletions and changes are rejected', async () => {
  const before = [await count('checkpoints'), await count('log_heads')]
  assert.equal(await forgetCheckpoints(book.pool, limits), false)
  assert.deepEqual([await count('checkpoints'), await count('log_heads')], before)
  await assert.rejects(book.pool.query('DELETE FROM log_heads WHERE position = 300'), /kept nowhere else/)
  await assert.rejects(book.pool.query('DELETE FROM checkpoints'), /the last checkpoint is kept/)
  await assert.rejects(book.pool.query('UPDATE checkpoints SET note = note'), /append only/)
  await assert.rejects(book.pool.query('UPDATE log_heads SET size = size'), /append only/)
})

test('heads that differ from the signed ones are not pruned', async () => {
  await tamper(`UPDATE checkpoints SET signed_at = signed_at - interval '31 days' WHERE size < $1`, [
    itemOf(kept, kept.length - 1).size,
  ])
  const sizes = await count('log_heads')
  const root = await scalar<Buffer>(book.pool, 'SELECT root FROM log_heads WHERE position = 300')
  const change = (to: Buffer) => tamper('UPDATE log_heads SET root = $1 WHERE position = 300', [to])
  await change(Buffer.alloc(32))
  await assert.rejects(forgetAll(), /heads 256 to 511 are not what was signed/)
  assert.equal(await count('log_heads'), sizes)
  await change(root)
})

test('old entries are pruned piece by piece, and proofs stay unchanged', async () => {
  const keeper = housekeeper({ pool: book.pool, log, limits })
  // Piece follows piece; it would else take a minute from one to the next.
  await until('the last pieces are gone', async () => (await forgettable()) === 0).finally(() => keeper.stop())
  await forgetAll()
  const last = itemOf(kept, kept.length - 1)
  const tiles = Math.floor(last.size / TILE)
  assert.equal(await count('checkpoints'), 1)
  // The tile of the head that has stayed the newest of its log is kept, and what the last checkpoint has newly.
  const { rows } = await book.pool.query<{ tile: number }>('SELECT tile FROM log_head_tiles ORDER BY tile')
  assert.ok(rows.length >= tiles - 2 && rows[0]?.tile === 1, JSON.stringify(rows))
  assert.equal(await count('log_heads'), last.size - rows.length * TILE)
  await assertAllProved()
  await assertEntries(0, TILE)
  assert.equal(await file('tile/entries/001'), undefined)
  await ensureOpen(book)
  await assertCleanAudit(book)
  await bookFor(accounts, ROUNDS + 1)
  await assertAllProved()
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('two prefixes of the log of heads are consistent at any sizes', async () => {
  const last = itemOf(kept, kept.length - 1)
  const size = fc.integer({ min: 1, max: last.size })
  await fc.assert(
    fc.asyncProperty(size, size, async (one, other) => {
      const [first, second] = [Math.min(one, other), Math.max(one, other)]
      const whole = present(await consistencyProof(book.pool, second, last.size))
      const part = present(await consistencyProof(book.pool, first, second))
      const known = kept.find((checkpoint) => checkpoint.size === first)
      const then = kept.find((checkpoint) => checkpoint.size === second)
      if (then !== undefined) assert.ok(isConsistent(then, last, whole.map(bytes)))
      if (known !== undefined && then !== undefined) assert.ok(isConsistent(known, then, part.map(bytes)))
    }),
    { numRuns: 100 },
  )
  assert.equal(await consistencyProof(book.pool, 1, last.size + 1), undefined)
  assert.equal(await consistencyProof(book.pool, 2, 1), undefined)
})

test('the audit detects hashes that were changed after their entries were pruned', async () => {
  const { rows } = await book.pool.query<{ leaves: Buffer }>('SELECT leaves FROM log_head_tiles WHERE tile = 1')
  const { leaves } = itemOf(rows, 0)
  const forged = Buffer.from(leaves)
  forged[1_000] = (forged[1_000] ?? 0) ^ 1
  const write = (to: Buffer) => tamper('UPDATE log_head_tiles SET leaves = $1 WHERE tile = 1', [to])
  await write(forged)
  const failed = (await runAudit(book.pool, book.redis, ledgerLimits)).filter(({ ok }) => !ok).map(({ name }) => name)
  await write(leaves)
  const names = ['heads of the usage logs only grow', 'nodes of the log of heads equal its entries']
  assert.deepEqual(failed, [...names, 'checkpoints sign the heads'])
  await assertCleanAudit(book)
})
