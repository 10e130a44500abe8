// Goal: whatever happens while a month of receipts is put away, no receipt is in neither the database nor the file.
import assert from 'node:assert/strict'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { newId } from '../../contract/wire/ids.ts'
import { readManifest } from '../../control/records/archive/archiveFile.ts'
import { archiveKeeper } from '../../control/records/archive/archiveKeeper.ts'
import { checkArchive } from '../../control/records/archive/checkArchive.ts'
import { runCli } from '../support/cli.ts'
import { limits, limitsWith } from '../support/limits.ts'
import { ArchiveWorld, refused } from '../support/parts/archiveWorld.ts'
import { watched } from '../support/parts/faultyPool.ts'
import { assertCleanAudit, type Book, ensureOpen, log, until } from '../support/parts/ledger.ts'

let world: ArchiveWorld
let book: Book
before(async () => {
  world = await ArchiveWorld.start()
  book = world.book
})
after(() => world.stop())

test('a receipt added to the month while its archive is written keeps the month in the database', async () => {
  const [accountId = ''] = world.accountIds
  const late = world.newRequest(-3)
  let isDone = false
  const pool = watched(book.pool, () => async (text) => {
    if (isDone || !text.startsWith('SET LOCAL lock_timeout')) return
    isDone = true
    await world.settle(accountId, [newId('req', world.at(0)), late])
  })
  await assert.rejects(world.archive(-3, { pool }), refused(/has got receipts since/))
  assert.equal(await world.kept(-3), world.idsOf(-3).length)
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('after an interruption anywhere, a month is in the database, or in the file', async () => {
  let cuts = 0
  for (let isDone = false; !isDone && cuts < 100; cuts++) {
    let statements = 0
    const pool = watched(book.pool, () => async (text) => {
      if (text !== 'ROLLBACK' && ++statements > cuts) throw new Error('cut off')
    })
    const failure = await world.archive(-3, { pool }).then(
      () => undefined,
      (error: Error) => error.message,
    )
    isDone = failure === undefined || /is in the archive/.test(failure)
    const left = await world.kept(-3)
    assert.ok(left === world.idsOf(-3).length || left === 0, `${left} are left`)
    if (left > 0) continue
    const path = join(world.dir, `receipts-${world.name(-3)}.ndjson.gz`)
    assert.equal(await checkArchive(book.pool, path, await readManifest(path)), world.idsOf(-3).length)
  }
  assert.ok(cuts > 10, `${cuts} cuts`)
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('a month is not removed during a long read of it', async () => {
  const reader = await book.pool.connect()
  await reader.query('BEGIN')
  await reader.query('SELECT count(*) FROM receipts')
  const hasty = limitsWith({ archiveLockMs: 20, archiveLockTries: 3 })
  await assert.rejects(world.archive(-2, { limits: hasty }), refused(/archive the month again later/))
  await reader.query('COMMIT')
  reader.release()
  assert.equal(await world.kept(-2), world.idsOf(-2).length)
})

test('the operator archives a month, and verifies its file', async () => {
  const env = {
    DATABASE_URL: book.pool.options.connectionString,
    REDIS_URL: book.redisServer.url,
    SLUICE_ARCHIVE: world.dir,
  }
  const wrong = await runCli(['receipts', 'archive', '2027-13'], env)
  assert.deepEqual([wrong.code, /MONTH must be one such as/.test(wrong.stderr)], [2, true])
  const early = await runCli(['receipts', 'archive', world.name(0)], env)
  assert.deepEqual([early.code, /^sluice: .* can be archived from/.test(early.stderr)], [1, true])
  const receipts = world.idsOf(-2).length
  const archived = await runCli(['receipts', 'archive', world.name(-2), '--json'], env)
  const { file, sha256 } = archived.json as { file: string; sha256: string }
  assert.equal(archived.code, 0, archived.stderr)
  const checked = await runCli(['receipts', 'check', join(world.dir, file), '--json'], env)
  assert.deepEqual(checked.json, { month: world.name(-2), receipts })
  const listed = (await runCli(['receipts', 'archives', '--json'], env)).json as { data: { sha256: string }[] }
  assert.ok(listed.data.some((archive) => archive.sha256 === sha256))
})

test('control archives months past the configured retention, earliest first', async () => {
  const options = { pool: book.pool, redis: book.redis, dir: world.dir, limits, log, keptMonths: 1 }
  const keeper = archiveKeeper(options)
  await until('the months are archived', async () => (await world.kept(-5)) + (await world.kept(-4)) === 0)
  await keeper.stop()
  const archives = await book.pool.query<{ month: string }>('SELECT month FROM receipt_archives ORDER BY until_id')
  assert.deepEqual(
    archives.rows.map(({ month }) => month),
    [-5, -4, -3, -2].map((month) => world.name(month)),
  )
  assert.equal(await world.kept(-1), world.idsOf(-1).length)
  await ensureOpen(book)
  await assertCleanAudit(book)
})
