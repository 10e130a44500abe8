// Goal: the audit finds each receipt of the private tier that does not name a kept, verified and fresh report of the provider that
// served it, in new receipts as in archived months, and reads none twice. Method: a book with receipts and reports of the
// test's own, one of which is wrong at a time.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { checkAttested } from '../../../control/audit/attestedChecks.ts'
import type { AuditMark } from '../../../control/audit/auditMark.ts'
import { monthStartMs } from '../../../control/book/partitions/idTime.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntry } from '../../../control/book/settlement/entry.ts'
import { insertReport, type NewReport } from '../../../control/catalog/attestation/reportStore.ts'
import { insertSheet } from '../../../control/catalog/pricing/sheetStore.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { archiveMonth } from '../../../control/records/archive/archiveMonth.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { countAll } from '../../support/parts/countAll.ts'
import { type Book, ensureOpen, settlementOf, startBook } from '../../support/parts/ledger.ts'
import { addPastMonths } from '../../support/parts/pastMonths.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const MODEL = 'acme/chat-private'
const PRICE = { input: '100000', output: '100000' }
const HOUR_MS = 3_600_000
/** As long ago as a month has to be that is archived, and months before the present one with partitions. */
const OLD = -4

let book: Book
let accountId: string
let entries = 0

before(async () => {
  book = await startBook()
  await addPastMonths(book.pool, -OLD)
  await ensureOpen(book)
  accountId = await openNewAccount(book.pool, limits, { coinNanos: 1_000_000 })
  await ensureOpen(book)
  const routes = ['acme', 'other'].map((provider) => ({ provider, enabled: true, data_policy: 'none' }))
  const models = [{ id: MODEL, price: PRICE, price_private: PRICE, attested: true, routes }]
  const text = JSON.stringify({ coin: { usd: '1' }, models })
  await insertSheet(book.pool, { version: 1, publishedAtMs: 1, validUntilMs: 2, contentHash: 'x', text })
})
after(() => book.stop())

/** Keeps a report of an hour. @returns its id */
async function report(fetchedAtMs: number, changes: Partial<NewReport> = {}): Promise<string> {
  const id = newId('att', fetchedAtMs)
  const given = { id, provider: 'acme', policy: '{"kind":"tdx"}', nonce: 'a'.repeat(64), evidence: Buffer.from('{}') }
  const outcome = { verdict: 'verified', measurements: {}, reportData: '', tcb: '' } as const
  await insertReport(
    book.pool,
    { ...given, fetchedAtMs, validUntilMs: fetchedAtMs + HOUR_MS, outcome, ...changes },
    limits,
  )
  return id
}

/** Books a charged request of the private tier. */
async function serve(
  attestation: string,
  heldAtMs: number,
  changes: { readonly provider?: string } = {},
): Promise<string> {
  const requestId = newId('req', heldAtMs)
  const tier = sluice.Tier.PRIVATE_TIER
  const settlement = settlementOf({ requestId, accountId, model: MODEL, tier, attestation, chargeUnits: 1, ...changes })
  const fields = ['e', settlement, 'c', '1', 't', String(heldAtMs), 's', 'coin=1']
  const raw = { shard: shardOf(accountId), id: `${Date.now()}-${++entries}` }
  await bookEntries(book.pool, [
    parseEntry({ ...raw, fields: fields.map((field) => (typeof field === 'string' ? Buffer.from(field) : field)) }),
  ])
  return requestId
}

/**
 * @param mark to continue from
 * @returns the details of both checks, '' for one that holds; then how far they went
 */
async function audit(mark?: AuditMark): Promise<[names: string, fresh: string, checked: string]> {
  const checks = await withTransaction(book.pool, (client) => checkAttested(client, mark, limits))
  const [names, fresh] = checks.map(({ ok, detail }) => (ok ? '' : detail))
  return [names ?? '', fresh ?? '', checks[0]?.ok === true ? checks[0].detail : '']
}

/** The mark of an audit that went up to here. */
async function markHere(): Promise<AuditMark> {
  const logs = await book.pool.query("SELECT size, '' AS peaks, size AS signed FROM usage_log_heads ORDER BY log")
  return { format: '', at: '', since: '', logs: logs.rows, cursors: [], archives: [], sums: '' }
}

async function tamper(sql: string, ...values: unknown[]): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql, values)
  })
}

test('receipts that name a standing report hold, and an audit since a mark reads new ones alone', async () => {
  const now = Date.now()
  const standing = await report(now - HOUR_MS / 2)
  for (let i = 0; i < 3; i++) await serve(standing, now - i)
  // Nothing was served, so that there is no hardware to name.
  await serve('', now, { provider: '' })
  assert.deepEqual(await audit(), ['', '', '3 receipts of the private tier'])
  const mark = await markHere()
  await serve(standing, now)
  assert.deepEqual(await audit(mark), ['', '', '1 receipts of the private tier'])
})

test('each fault of a report is found', async () => {
  const now = Date.now()
  const [standing, refused] = [
    await report(now),
    await report(now, { outcome: { verdict: 'refused', fault: 'debug', reason: 'debug' } }),
  ]
  const others = await report(now, { provider: 'other' })
  const faults: [requestId: string, check: 0 | 1, what: RegExp][] = [
    [await serve('', now), 0, /names no report/],
    [await serve(newId('att'), now), 0, /there is no report att_/],
    [await serve(others, now), 0, /acme served it, and att_\w+ is of other/],
    [await serve(refused, now), 0, /was refused/],
    [await serve(standing, now, { provider: 'unlisted' }), 0, /unlisted served it/],
    [await serve(standing, now - 2 * limits.auditReportSlackMs), 1, /held outside/],
    [await serve(standing, now + HOUR_MS + 2 * limits.auditReportSlackMs), 1, /held outside/],
  ]
  for (const [requestId, check, what] of faults) {
    const found = await audit()
    const told = found[check].split('; ').find((line) => line.includes(requestId))
    assert.match(told ?? `nothing of ${requestId} in ${found}`, what)
    // Only so that the next one is found by itself: receipts are never changed.
    await tamper(
      `UPDATE receipts SET attestation = $2, provider = 'acme', held_at_ms = $3 WHERE request_id = $1`,
      requestId,
      standing,
      now,
    )
  }
  const [names, fresh] = await audit()
  assert.deepEqual([names, fresh], ['', ''])

  await tamper(`UPDATE attestation_reports SET evidence = '{"a":1}' WHERE id = $1`, standing)
  assert.match((await audit())[0], /other evidence/)
  await tamper(`UPDATE attestation_reports SET evidence = '{}' WHERE id = $1`, standing)
  await tamper(`UPDATE receipts SET model = 'acme/plain' WHERE attestation = $1`, standing)
  assert.match((await audit())[0], /does not have acme\/plain on attested hardware/)
  await tamper('UPDATE receipts SET model = $2 WHERE attestation = $1', standing, MODEL)
})

test('receipts from before reports existed may name none', async () => {
  const requestId = await serve('', Date.now())
  assert.match((await audit())[0], new RegExp(requestId))
  await tamper(
    `INSERT INTO unattested_receipts SELECT log, position + 1 FROM receipts WHERE request_id = $1
     ON CONFLICT (log) DO UPDATE SET until_position = excluded.until_position`,
    requestId,
  )
  assert.equal((await audit())[0], '')
})

test('archived months are checked by the reports that their receipts named', async (t) => {
  const dir = makeTempDir('attested')
  t.after(() => removeTempDir(dir))
  const { pool, redis } = book
  const heldAtMs = monthStartMs(Date.now(), OLD) + HOUR_MS
  const standing = await report(heldAtMs - 1_000)
  for (let i = 0; i < 2; i++) await serve(standing, heldAtMs + i * 60_000)
  await countAll(pool)
  const before = await audit()
  await archiveMonth({ pool, redis, dir, limits }, new Date(heldAtMs).toISOString().slice(0, 7))
  assert.deepEqual(await audit(), before)
  const month = { ...(await markHere()), archives: [new Date(heldAtMs).toISOString().slice(0, 7)] }
  assert.equal((await audit(month))[2], '0 receipts of the private tier')
  await tamper('UPDATE archived_attestations SET last_held_ms = last_held_ms + 7200000')
  assert.match((await audit())[1], /^archived \d{4}-\d\d \(2 receipts of acme\/chat-private\) was held outside/)
  await tamper(`UPDATE archived_attestations SET last_held_ms = last_held_ms - 7200000, attestation = 'att_none'`)
  assert.match((await audit())[0], /there is no report att_none/)
})
