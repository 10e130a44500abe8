// Goal: after PostgreSQL was lost with Redis and the journals, and is restored to an earlier moment, the book is brought up, holds
// the audit, and says what it lacks. Method: a real backup and the archived log of PostgreSQL, brought back to a named moment;
// what was booked after that moment is counted by the test itself.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newId } from '../../contract/wire/ids.ts'
import { shardOf } from '../../contract/wire/redisKeys.ts'
import { readMark } from '../../control/audit/bookMark.ts'
import type { Lost } from '../../control/audit/lostSince.ts'
import { NoteKey } from '../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../control/book/checkpoint/signCheckpoint.ts'
import { creditCoin } from '../../control/book/ledger/creditCoin.ts'
import { withTransaction } from '../../control/runtime/db/pool.ts'
import { type CliResult, runCli } from '../support/cli.ts'
import { limitsWith } from '../support/limits.ts'
import { TEST_LOG_KEY } from '../support/logKey.ts'
import { ArchivedPostgres } from '../support/parts/archivedPostgres.ts'
import { appendEndings, endedOf } from '../support/parts/endings.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  ensureOpen,
  fundedAccount,
  startBook,
  TestProxy,
} from '../support/parts/ledger.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'

const COIN_UNITS = 10_000_000
const limits = limitsWith({ checkpointMs: 0 })

const postgres = new ArchivedPostgres()
const dir = makeTempDir('marks')
const mark = join(dir, 'mark.json')
let book: Book
let accountIds: string[]
before(async () => {
  book = await startBook(await postgres.start())
  await ensureOpen(book)
  accountIds = []
  for (let i = 0; i < 5; i++) accountIds.push(await fundedAccount(book, COIN_UNITS))
})
after(async () => {
  await book.stop()
  await postgres.stop()
  removeTempDir(dir)
})

const owner = newId('own')
const lastSeq = new Map<number, number>()

/** Books endings of all accounts, and signs what the logs are then. @returns their charges */
async function serve(count: number): Promise<number> {
  let units = 0
  for (const accountId of accountIds) {
    const shard = shardOf(accountId)
    const charges = Array.from({ length: count }, (_, i) => 100 + i)
    const from = (lastSeq.get(shard) ?? 0) + 1
    const endings = charges.map((charge) => endedOf({ accountId, charge }))
    await appendEndings(book.redis, accountId, owner, from, endings)
    lastSeq.set(shard, from + count - 1)
    units += charges.reduce((sum, charge) => sum + charge, 0)
  }
  await drainAll(book)
  await signCheckpoint(book.pool, NoteKey.of(TEST_LOG_KEY), limits)
  return units
}

interface Drill {
  readonly lost: Lost
  readonly ok: boolean
}
const sluice = (databaseUrl: string, ...args: string[]): Promise<CliResult> =>
  runCli(['restore', ...args, '--json'], { DATABASE_URL: databaseUrl, REDIS_URL: book.redisServer.url })

test('a book restored to an earlier moment is consistent, and reports the lost receipts and units', async () => {
  await serve(40)
  await postgres.backUp()
  await serve(300)
  const kept = await readMark(book.pool)
  await postgres.remember('kept')
  const lostUnits = await serve(70)
  await withTransaction(book.pool, (client) =>
    creditCoin(client, { accountId: accountIds[0] ?? '', nanos: 5_000, units: 5_000, ref: 'late' }),
  )
  const address = book.pool.options.connectionString ?? ''
  assert.equal((await sluice(address, 'mark', mark)).code, 0)
  const refused = await sluice(address, 'drill', mark)
  assert.match(refused.stderr, /a drill needs an empty one/)
  const none = (await sluice(address, 'report', mark)).json as { lost: Lost }
  assert.deepEqual([none.lost.receiptsTotal, none.lost.chargedUnits, none.lost.signedHeads], [0, 0, 0])

  await book.redis.disconnect()
  await postgres.lose()
  await book.stop()
  const restored = await postgres.restore('kept')
  book = await startBook(restored)
  const { at: _, ...expected } = kept
  const { at: __, ...found } = await readMark(book.pool)
  assert.deepEqual(found, expected)

  const drilled = await sluice(restored, 'drill', mark)
  assert.equal(drilled.code, 0, drilled.stdout + drilled.stderr)
  const { lost, ok } = drilled.json as Drill
  assert.ok(ok)
  assert.deepEqual([lost.receiptsTotal, lost.chargedUnits], [70 * accountIds.length, lostUnits])
  assert.deepEqual(lost.endings, { [owner]: 70 * accountIds.length })
  assert.equal(lost.signedHeads, new Set(accountIds.map(shardOf)).size)
  assert.deepEqual(lost.forked, [])
  assert.equal(lost.balances['payments_in'], -5_000)

  // Life goes on: what is booked now takes the places of what was lost, which a later report names.
  await ensureOpen(book)
  await assertCleanAudit(book)
  const proxy = new TestProxy(book.redis)
  for (const accountId of accountIds) for (let i = 0; i < 80; i++) await proxy.serve(accountId, 7)
  await drainAll(book)
  await signCheckpoint(book.pool, NoteKey.of(TEST_LOG_KEY), limits)
  await assertCleanAudit(book)
  const later = (await sluice(restored, 'report', mark)).json as { lost: Lost }
  assert.deepEqual([later.lost.receiptsTotal, later.lost.chargedUnits, later.lost.balances], [0, null, {}])
  const told = await runCli(['restore', 'report', mark], {
    DATABASE_URL: restored,
    REDIS_URL: book.redisServer.url,
  })
  assert.match(told.stdout, /^since \S+ the book lost no receipt\nentries were added after the restore, so balances /)
  assert.doesNotMatch(told.stdout, /charged| -\d|\b0 /)
  assert.deepEqual(
    later.lost.forked.filter((log) => log < 64),
    [...new Set(accountIds.map(shardOf))].sort((a, b) => a - b),
  )
})
