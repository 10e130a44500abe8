// Goal: an ending that neither memory nor disk took keeps none of those behind it from the book. Method: a worker that Redis
// does not hear ends requests and is killed; one of its endings is taken out of what its journal says.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import type { JournalContent } from '../../../proxy/admission/journal/readJournal.ts'
import { bookUntil } from '../../support/parts/bookUntil.ts'
import { type LeasedRequest, LeasingWorker } from '../../support/parts/leasingWorker.ts'
import { assertCleanAudit, type Book, ensureOpen, fundedAccount, startBook } from '../../support/parts/ledger.ts'
import { itemOf } from '../../support/present.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const HELD = 1_000
const CHARGES = [100, 200, 300]

let book: Book
before(async () => {
  book = await startBook()
  await ensureOpen(book)
})
after(() => book.stop())

/** The content without one ending, whose request is open then. */
function without({ open, endings }: JournalContent, requestId: string): JournalContent {
  const left = [...endings].map(([shard, own]) => [shard, own.filter((one) => one.requestId !== requestId)] as const)
  const lost = [...endings.values()].flat().filter((one) => one.requestId === requestId)
  const openings = lost.map(({ seq: _, voided: __, settlement: ___, ...lease }) => ({
    ...lease,
    kind: 'opening' as const,
    split: `coin=${HELD}`,
    holdMeta: 'acme/chat-small,chat,1,0',
  }))
  return { open: [...open, ...openings], endings: new Map(left) }
}

for (const place of [0, 1]) {
  test(`ending ${place + 1} of ${CHARGES.length} was never written`, { timeout: 120_000 }, async (t) => {
    const folder = makeTempDir('journal')
    t.after(() => removeTempDir(folder))
    const accountId = await fundedAccount(book, 10_000)
    const worker = await LeasingWorker.start(book.redisServer.url, book.pool, folder)
    const taken: LeasedRequest[] = []
    for (let i = 0; i <= CHARGES.length; i++)
      taken.push((await worker.take(accountId, `key_${place}`, HELD)) as LeasedRequest)
    worker.cutOff()
    await Promise.all(CHARGES.map((units, i) => worker.end(itemOf(taken, i), units)))
    await worker.kill()
    const { requestId: lostId } = itemOf(taken, place)
    await bookUntil(
      book,
      worker.replay(book.redis, (content) => without(content, lostId)),
    )
    const found = await book.pool.query<{ request_id: string; status: string; charge_units: number }>(
      'SELECT request_id, status, charge_units FROM receipts WHERE account_id = $1',
      [accountId],
    )
    const booked = new Map(found.rows.map((row) => [row.request_id, [row.status, row.charge_units]]))
    const due = taken.map(({ requestId }, i): [string, unknown] => {
      const units = requestId === lostId ? undefined : CHARGES[i]
      return [requestId, units === undefined ? ['orphaned', 0] : ['ok', units]]
    })
    assert.deepEqual(booked, new Map(due))
    await ensureOpen(book)
    await assertCleanAudit(book)
  })
}
