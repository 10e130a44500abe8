// Goal: a request that was open when its process died has its receipt, also when the journal no longer has the endings that
// were booked before, and a second replay adds nothing. Method: a worker whose booked endings are taken out of what its
// journal says is killed with open requests, and its journal is replayed twice.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { BATCH_OWNER, epochKey, holdsKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { BatchHolds } from '../../../control/batch/batchHolds.ts'
import { noteOwner, noteReplayed } from '../../../control/book/settlement/proxyOwners.ts'
import type { JournalContent } from '../../../proxy/admission/journal/readJournal.ts'
import { ledgerLimits } from '../../support/limits.ts'
import { bookUntil } from '../../support/parts/bookUntil.ts'
import { type LeasedRequest, LeasingWorker } from '../../support/parts/leasingWorker.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  ensureOpen,
  fundedAccount,
  startBook,
  TestProxy,
} from '../../support/parts/ledger.ts'
import { itemOf } from '../../support/present.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const HELD = 1_000
const CHARGE = 100

let book: Book
before(async () => {
  book = await startBook()
  await ensureOpen(book)
})
after(() => book.stop())

const trimmed = ({ open }: JournalContent): JournalContent => ({ open, endings: new Map() })

/** Books what is delivered until the replay is done. */
const replay = (worker: LeasingWorker, written?: (content: JournalContent) => JournalContent): Promise<void> =>
  bookUntil(book, worker.replay(book.redis, written))

test('requests that were open get receipts after endings that were trimmed', { timeout: 120_000 }, async (t) => {
  const folder = makeTempDir('journal')
  t.after(() => removeTempDir(folder))
  const accountId = await fundedAccount(book, 100_000)
  const worker = await LeasingWorker.start(book.redisServer.url, book.pool, folder)
  const taken: LeasedRequest[] = []
  for (let i = 0; i < 8; i++) taken.push((await worker.take(accountId, 'key_orphans', HELD)) as LeasedRequest)
  const ended = taken.slice(0, 5)
  await Promise.all(ended.map((request) => worker.end(request, CHARGE)))
  while (worker.undelivered > 0) await new Promise((resolve) => setImmediate(resolve))
  await drainAll(book)
  assert.equal(worker.begun, taken.length)
  await noteOwner(book.pool, worker.owner, worker.begun)
  await worker.kill()

  const seen: number[][] = []
  for (let round = 0; round < 2; round++) {
    await replay(worker, round === 0 ? trimmed : undefined)
    const found = await book.pool.query<{ request_id: string; status: string; charge_units: number }>(
      'SELECT request_id, status, charge_units FROM receipts WHERE account_id = $1',
      [accountId],
    )
    assert.equal(found.rows.length, taken.length)
    const booked = new Map(found.rows.map((row) => [row.request_id, [row.status, row.charge_units]]))
    for (const [i, { requestId }] of taken.entries())
      assert.deepEqual(booked.get(requestId), i < ended.length ? ['ok', CHARGE] : ['orphaned', 0])
    const positions = await book.pool.query<{ seq: number }>('SELECT seq FROM owner_positions WHERE owner = $1', [
      worker.owner,
    ])
    seen.push(positions.rows.map(({ seq }) => seq))
  }
  assert.deepEqual(seen, [[taken.length], [taken.length]])
  await noteReplayed(book.pool, worker.owner)
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('a hold does not change hands while its shard is closed', async () => {
  const accountId = await fundedAccount(book, 10_000)
  const proxy = new TestProxy(book.redis)
  await proxy.beat()
  const id = await proxy.newHold(accountId, HELD)
  const shard = shardOf(accountId)
  const job = { id, accountId, keyId: accountId.replace('acct', 'key') }
  const holds = new BatchHolds(book.redis, book.pool, ledgerLimits)
  const take = (): Promise<boolean> => holds.takeOver(job, proxy.owner, Date.now() + 60_000)
  const epoch = await book.redis.get(epochKey(shard))
  await book.redis.del(epochKey(shard))
  assert.equal(await take(), false)
  assert.equal(await book.redis.hexists(holdsKey(shard, proxy.owner), id), 1)
  await book.redis.set(epochKey(shard), itemOf([epoch ?? ''], 0))
  assert.equal(await take(), true)
  // A repeated call is told what the first one did.
  await book.redis.del(epochKey(shard))
  assert.equal(await take(), true)
  assert.equal(await book.redis.hexists(holdsKey(shard, BATCH_OWNER), id), 1)
  await book.redis.set(epochKey(shard), epoch ?? '')
})
