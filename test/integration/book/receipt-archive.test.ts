// Goal: a past month of receipts goes into a file that is checked against the usage logs, and can be read and proven there.
import assert from 'node:assert/strict'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gunzipSync, gzipSync } from 'node:zlib'
import { GatewayError } from '../../../contract/errors/errors.ts'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { monthStartMs } from '../../../control/book/partitions/idTime.ts'
import { countOutcomes } from '../../../control/book/statistics/countOutcomes.ts'
import { inclusionProof } from '../../../control/book/usagelog/inclusionProof.ts'
import { verifyInclusion } from '../../../control/book/usagelog/merkle.ts'
import { payProviders } from '../../../control/products/marketplace/serving/payProviders.ts'
import { payShares } from '../../../control/products/transfers/referrals/share.ts'
import { readManifest } from '../../../control/records/archive/archiveFile.ts'
import { checkArchive } from '../../../control/records/archive/checkArchive.ts'
import { receiptPage } from '../../../control/records/receipts/receiptPage.ts'
import { ReceiptReader } from '../../../control/records/receipts/receiptReader.ts'
import { statementPart } from '../../../control/records/statements/statement.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { ArchiveWorld, refused } from '../../support/parts/archiveWorld.ts'
import { countAll } from '../../support/parts/countAll.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  ensureOpen,
  scalar,
  TestProxy,
  until,
} from '../../support/parts/ledger.ts'

const OLD = -4

let world: ArchiveWorld
let book: Book
before(async () => {
  world = await ArchiveWorld.start()
  book = world.book
})
after(() => world.stop())

/** Runs something, and rolls back what it changed. */
async function meanwhile(sql: string, work: () => Promise<unknown>, undo: string): Promise<void> {
  await book.pool.query(sql)
  try {
    await work()
  } finally {
    await book.pool.query(undo)
  }
}

/** Audits without a finding. @returns how far it went */
async function auditSinceMark(): Promise<string> {
  const marking = { isFull: false, key: undefined }
  const checks = await runAudit(book.pool, book.redis, limits, { marking })
  assert.deepEqual(
    checks.filter(({ ok }) => !ok),
    [],
  )
  return checks.at(-1)?.detail ?? ''
}

test('months that may still change are rejected', async () => {
  await assert.rejects(world.archive(0), refused(/can be archived from/))
  await assert.rejects(world.archive(2), refused(/can be archived from/))
  await assert.rejects(world.archive(9), refused(/no receipts of/))
  await assert.rejects(world.archive(-7), refused(/all months up to .* are together/))
  const old = limitsWith({ archiveAgeMinMs: 300 * 86_400_000 })
  await assert.rejects(world.archive(OLD, { limits: old }), refused(/can be archived from/))

  const proxy = new TestProxy(book.redis)
  const [accountId = ''] = world.accountIds
  const requestId = world.newRequest(OLD)
  await until('a hold is granted', async () => (await proxy.hold(accountId, requestId, 5)).code >= 0)
  await assert.rejects(world.archive(OLD), refused(/is held/))
  await proxy.settle(accountId, requestId, -1, 5)
  await drainAll(book)
  await assert.rejects(world.archive(OLD), refused(/not all of it is counted/))
  await payShares(book.pool, limits)
  await assert.rejects(world.archive(OLD), refused(/not all of it is paid/))
  await payProviders(book.pool, limits)
  await assert.rejects(world.archive(OLD), refused(/not all of it is in the usage by provider and outcome/))
  while (await countOutcomes(book.pool, limits));
  await assert.rejects(world.archive(OLD), refused(/not all of it is in the statistics/))
  await countAll(book.pool)
  await book.pool.query(
    `INSERT INTO export_files (name, form, logs, firsts, lasts) VALUES ('2026-01-31T12-1', 'csv', '{0}', '{0}', '{9}')`,
  )
  await assert.rejects(world.archive(OLD), refused(/not all exports that are planned are written/))
  await book.pool.query('UPDATE export_files SET written_at = now()')

  const paid = newId('req', world.at(OLD))
  const payment = (
    state: string,
    more = '',
  ) => `INSERT INTO payments (id, replay_key, protocol, payer, account_id, asset,
    token, amount, units, hold_units, state, owner, model, endpoint, sheet_version, streamed, serve_by_ms, min_units
    ${more === '' ? '' : ', back_units, back_amount'}) VALUES ('${paid}', '${paid}', 'x402', '0x${'1'.repeat(40)}',
    'acct_1', 'usdc', 'usdc', 5, 5, 5, '${state}', '', '', '', 1, false, 0, 0 ${more})`
  const undo = `DELETE FROM payments WHERE id = '${paid}'`
  await meanwhile(payment('paid'), () => assert.rejects(world.archive(OLD), refused(/1 payments are open/)), undo)
  await meanwhile(
    payment('closed', ', 5, 5'),
    () => assert.rejects(world.archive(OLD), refused(/1 refunds are open/)),
    undo,
  )
  const reject = `INSERT INTO settlement_rejects (shard, entry_id, reason, fields) VALUES (1, '1-1', 'odd', '{}')`
  const resolve = 'DELETE FROM settlement_rejects'
  await meanwhile(reject, () => assert.rejects(world.archive(OLD), refused(/1 endings were rejected/)), resolve)
  assert.equal(await world.kept(OLD), world.idsOf(OLD).length)
})

test('a month whose receipts differ from the usage log is not archived', async () => {
  const [victim] = world.requests.get(OLD) ?? []
  const change = async (sql: string) => {
    await book.pool.query('ALTER TABLE receipts DISABLE TRIGGER receipts_append_only')
    await book.pool.query(sql, [victim?.id])
    await book.pool.query('ALTER TABLE receipts ENABLE TRIGGER receipts_append_only')
  }
  await change('UPDATE receipts SET output_tokens = output_tokens + 1 WHERE request_id = $1')
  await assert.rejects(world.archive(OLD), refused(/is not what its leaf says/))
  await change('UPDATE receipts SET output_tokens = output_tokens - 1 WHERE request_id = $1')
  assert.equal(await world.kept(OLD), world.idsOf(OLD).length)
})

test('an archived month can be read and proved only from its file', async () => {
  const [, second] = world.requests.get(OLD) ?? []
  const read = new ReceiptReader(book.pool, book.redis, limits)
  const place = await book.pool.query<{ log: number; position: number; leaf: string }>(
    `SELECT log, position, encode(leaf_hash, 'hex') AS leaf FROM receipts WHERE request_id = $1`,
    [second?.id],
  )
  const [row] = place.rows
  assert.ok(row !== undefined && second !== undefined)
  await ensureOpen(book)
  assert.match(await auditSinceMark(), /^everything was checked/)
  const manifest = await world.archive(OLD)
  assert.equal(manifest.receipts, world.idsOf(OLD).length)
  assert.equal(await world.kept(OLD), 0)
  assert.equal(
    await scalar(book.pool, `SELECT to_regclass('receipts_' || $1)`, [world.name(OLD).replace('-', '_')]),
    null,
  )
  const path = join(world.dir, manifest.file)
  const lines = gunzipSync(readFileSync(path)).toString().trimEnd().split('\n')
  assert.deepEqual(lines.map((line) => JSON.parse(line).request_id).sort(), world.idsOf(OLD).sort())
  assert.equal(await checkArchive(book.pool, path, await readManifest(path)), manifest.receipts)

  const proof = await inclusionProof(book.pool, { ...row, requestId: second.id })
  assert.ok(proof)
  const bytes = (hex: string) => Buffer.from(hex, 'hex')
  assert.equal(proof.leaf, row.leaf)
  assert.ok(verifyInclusion(bytes(row.leaf), row.position, proof.tree_size, proof.proof.map(bytes), bytes(proof.root)))
  for (const [months, requests] of world.requests) {
    if (months === OLD) continue
    for (const { id, accountId } of requests.slice(0, 3)) {
      const position = await scalar<number>(book.pool, 'SELECT position FROM receipts WHERE request_id = $1', [id])
      assert.ok(await inclusionProof(book.pool, { log: shardOf(accountId), position, requestId: id }))
    }
  }

  const archived = (error: unknown) => {
    assert.ok(error instanceof GatewayError, String(error))
    assert.deepEqual([error.code, error.status], ['receipt_archived', 410])
    assert.match(error.message, new RegExp(`${manifest.file} on .*${manifest.sha256}`))
    return true
  }
  const { accountId } = second
  const keyId = accountId.replace('acct', 'key')
  await assert.rejects(read.single(second.id, keyId), archived)
  await assert.rejects(read.single(second.id, ''), archived)
  await assert.rejects(receiptPage(book.pool, { accountId, keyId, limit: 0, after: second.id }, 5), archived)
  const whole = { accountId, form: 'csv', tag: '', user: '' } as const
  const month = { ...whole, startMs: monthStartMs(world.at(OLD)), endMs: monthStartMs(world.at(OLD), 1) }
  await assert.rejects(statementPart(book.pool, month, '', limits), archived)
  const present = { ...whole, startMs: monthStartMs(Date.now()), endMs: monthStartMs(Date.now(), 1) }
  assert.ok((await statementPart(book.pool, present, '', limits)).text.length > 0)
  await ensureOpen(book)
  await assertCleanAudit(book)
  assert.match(await auditSinceMark(), /^went on from/)
  assert.match(await auditSinceMark(), /^went on from/)

  await assert.rejects(world.archive(OLD), refused(/is in the archive/))
  const again = await world.settle(accountId, [newId('req', world.at(0)), second.id])
  assert.deepEqual([again.receipts, again.rejects.map(({ reason }) => /put away/.test(reason))], [1, [true]])
  await book.pool.query('DELETE FROM settlement_rejects')

  const changed = lines.map((line, i) => (i === 5 ? line.replace(/"charge_units": \d+/, '"charge_units": 9') : line))
  writeFileSync(path, gzipSync(`${changed.join('\n')}\n`))
  await assert.rejects(checkArchive(book.pool, path, manifest), refused(/is not what its leaf says|another SHA-256/))
  writeFileSync(path, gzipSync(`${lines.slice(1).join('\n')}\n`))
  await assert.rejects(checkArchive(book.pool, path, manifest), refused(/another SHA-256/))
  writeFileSync(path, readFileSync(path).subarray(0, 300))
  await assert.rejects(checkArchive(book.pool, path, manifest), refused(/cannot be read/))
})
