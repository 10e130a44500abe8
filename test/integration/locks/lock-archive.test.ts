// Goal: receipts that burnt tokens stay accounted for when their month is put away: the archive matches the usage logs, the
// audit knows what was burnt, and a receipt that was kept is verified against its series and a later checkpoint.
// Method: a book of random requests, a part of them of a past month, which is archived.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { monthStartMs } from '../../../control/book/partitions/idTime.ts'
import { readManifest } from '../../../control/records/archive/archiveFile.ts'
import { archiveMonth } from '../../../control/records/archive/archiveMonth.ts'
import { checkArchive } from '../../../control/records/archive/checkArchive.ts'
import { verify } from '../../../verifier/verify.ts'
import { limits } from '../../support/limits.ts'
import { countAll } from '../../support/parts/countAll.ts'
import { assertCleanAudit, ensureOpen, scalar } from '../../support/parts/ledger.ts'
import { addPastMonths } from '../../support/parts/pastMonths.ts'
import { type Booked, VerifiedBook } from '../../support/parts/verifiedBook.ts'
import { PRICED_CHECK } from '../../support/parts/verifyReceipts.ts'
import { present } from '../../support/present.ts'
import { seededRandom } from '../../support/samples/mutations.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const PAST = 4
const OLD = -3
const HOUR_MS = 3_600_000
const RECEIPTS = 250

let world: VerifiedBook
const dir = makeTempDir('archive')
before(async () => {
  world = await VerifiedBook.start(seededRandom(7))
  await addPastMonths(world.book.pool, PAST)
})
after(async () => {
  await world.book.stop()
  removeTempDir(dir)
})

/** A receipt as it was read before its month was put away. */
interface Kept {
  readonly booked: Booked
  readonly receipt: string
}

/** The receipts that burnt tokens. */
async function keptOf(booked: readonly Booked[]): Promise<Kept[]> {
  const kept: Kept[] = []
  for (const one of booked) {
    if (one.isTooDear || !one.request.settlement.lockSeries) continue
    kept.push({ booked: one, receipt: await world.receipt(one.requestId) })
  }
  return kept
}

async function verified({ booked, receipt }: Kept, checkpoint: string, consistency: string): Promise<void> {
  const sheet = await world.sheet(booked.request)
  const report = await verify({ receipt, sheet, lock: world.lock, key: world.verifier, checkpoint, consistency })
  assert.deepEqual(
    report.steps.filter(({ result }) => result === 'failed' || result === 'skipped'),
    [],
  )
}

test('a month whose requests burnt tokens is put away, and everything about them still adds up', async () => {
  const { pool, redis } = world.book
  const month = new Date(monthStartMs(Date.now(), OLD)).toISOString().slice(0, 7)
  world.requestsAtMs = monthStartMs(Date.now(), OLD) + HOUR_MS
  const old = await world.bookSome(RECEIPTS)
  const { size } = await world.sign()
  const kept = await keptOf(old)
  assert.ok(kept.length > 5, `${kept.length} receipts burn tokens`)
  const burnt = () => scalar<number>(pool, 'SELECT coalesce(sum(lock_units), 0)::bigint FROM receipts')
  const before = await burnt()

  await countAll(pool)
  await ensureOpen(world.book)
  const { file } = await archiveMonth({ pool, redis, dir, limits }, month)
  const path = join(dir, file)
  assert.equal(await checkArchive(pool, path, await readManifest(path)), RECEIPTS)
  assert.equal(await burnt(), 0)
  assert.equal(await scalar<number>(pool, 'SELECT sum(units)::bigint FROM archived_lock_uses'), before)

  world.requestsAtMs = undefined
  await world.bookSome(RECEIPTS / 2)
  const later = await world.sign()
  const consistency = await world.consistency(size, later.size)
  for (const one of kept) await verified(one, later.note, consistency)
  await ensureOpen(world.book)
  await assertCleanAudit(world.book, PRICED_CHECK)
})

test('the audit notices a wrong sum of a month that was put away', async () => {
  const { pool, redis } = world.book
  await ensureOpen(world.book)
  await pool.query('UPDATE archived_lock_uses SET units = units - 1')
  const broken = (await runAudit(pool, redis, limits)).filter(({ ok, name }) => !ok && name !== PRICED_CHECK)
  assert.deepEqual(
    broken.map(({ name }) => name),
    ['every receipt burns what was taken from the holding'],
  )
  assert.match(present(broken[0]).detail, /that was put away burnt/)
  await pool.query('UPDATE archived_lock_uses SET units = units + 1')
})
