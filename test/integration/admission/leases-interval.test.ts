// Goal: endings wait for the interval of deliveries, so that keys that are used seldom share calls to Redis.
// Method: a worker whose interval does not end, on a real Redis and a real book.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { ledgerStream, shardOf } from '../../../contract/wire/redisKeys.ts'
import { type LeasedRequest, LeasingWorker } from '../../support/parts/leasingWorker.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  ensureOpen,
  fundedAccount,
  startBook,
} from '../../support/parts/ledger.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const NEVER_MS = 1_000_000_000

let book: Book
let folder: string
before(async () => {
  book = await startBook()
  folder = makeTempDir('interval')
  await ensureOpen(book)
})
after(async () => {
  await book.stop()
  removeTempDir(folder)
})

test('a request that waits for a lease does not make the endings of other keys be delivered before their interval', async () => {
  const accountId = await fundedAccount(book, 100_000)
  const changes = { leaseDeliverMs: NEVER_MS, leaseDemandMs: NEVER_MS }
  const worker = await LeasingWorker.start(book.redisServer.url, book.pool, folder, changes)
  const held: LeasedRequest[] = []
  for (const key of ['key_a', 'key_b', 'key_c', 'key_d']) {
    // The calls of a shard follow each other, so that a delivery after the lease before would be over.
    const request = await worker.take(accountId, key, 100)
    assert.ok(!(request instanceof GatewayError), String(request))
    assert.equal(await book.redis.xlen(ledgerStream(shardOf(accountId))), 0, key)
    await worker.end(request, 60)
    held.push(request)
  }
  assert.equal(worker.undelivered, held.length)
  assert.equal(await worker.stop(), true)
  assert.equal(await book.redis.xlen(ledgerStream(shardOf(accountId))), 1)
  await drainAll(book)
  await assertCleanAudit(book)
})
