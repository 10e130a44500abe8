import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { type AuditOptions, runAudit } from '../../control/audit/runAudit.ts'
import { NoteKey } from '../../control/book/checkpoint/noteKey.ts'
import { ledgerLimits } from '../support/limits.ts'
import { TEST_LOG_KEY } from '../support/logKey.ts'
import { type Book, drainAll, fundedAccount, startBook, TestProxy } from '../support/parts/ledger.ts'
import { findingsOf, tamperingsAt } from '../support/parts/tamperings.ts'

const SINCE_MARK: AuditOptions = { marking: { isFull: false, key: NoteKey.of(TEST_LOG_KEY) } }
const ALL: AuditOptions = { marking: { isFull: true, key: NoteKey.of(TEST_LOG_KEY) } }

/** Every log has several pages, which do not end where tiles do. */
const limits = { ...ledgerLimits, auditSumReceipts: 64, auditLeafPositions: 100 }

let book: Book
let accountId: string
let proxy: TestProxy
let beats: NodeJS.Timeout

before(async () => {
  book = await startBook()
  accountId = await fundedAccount(book, 1_000_000)
  proxy = new TestProxy(book.redis)
  beats = setInterval(() => void proxy.beat().catch(() => undefined), 100)
  await serve(300)
})
after(async () => {
  clearInterval(beats)
  await book.stop()
})

/** Of every ten requests the first fails. */
async function serve(requests: number): Promise<void> {
  for (let i = 0; i < requests; i++) await proxy.serve(accountId, i % 10 === 0 ? -1 : 60, 100)
  await drainAll(book)
}

async function failedChecks(options: AuditOptions): Promise<string[]> {
  const checks = await runAudit(book.pool, book.redis, limits, options)
  return checks.filter((check) => !check.ok).map((check) => check.name)
}

test('the first audit writes a mark', async () => assert.deepEqual(await failedChecks(SINCE_MARK), []))

for (const tampering of tamperingsAt({ charged: 17, failed: 10, last: 299 })) {
  test(`before a mark, the full audit finds ${tampering.name}`, async () => {
    assert.deepEqual(await findingsOf(book.pool, tampering, () => failedChecks(ALL)), tampering.found)
  })
}

test('the audit resumes from the mark, and still finds faults before it in rows that may change', async () => {
  assert.deepEqual(await failedChecks(SINCE_MARK), [])
  await serve(220)
  const others = [
    'a balance changed by hand',
    'key usage changed',
    'usage by day changed',
    'a head that counts one more',
  ]
  for (const tampering of tamperingsAt({ charged: 27, failed: 20, last: 299 })) {
    if (!others.includes(tampering.name)) continue
    assert.deepEqual(await findingsOf(book.pool, tampering, () => failedChecks(SINCE_MARK)), tampering.found)
  }
})

for (const tampering of tamperingsAt({ charged: 307, failed: 300, last: 519 })) {
  test(`after a mark, the audit finds ${tampering.name}`, async () => {
    assert.deepEqual(await findingsOf(book.pool, tampering, () => failedChecks(SINCE_MARK)), tampering.found)
  })
}

test('an audit without findings writes the next mark', async () => {
  assert.deepEqual(await failedChecks(SINCE_MARK), [])
  const checks = await runAudit(book.pool, book.redis, limits, SINCE_MARK)
  const detail = (name: string) => checks.find((check) => check.name === name)?.detail ?? ''
  assert.equal(detail('every charge is booked in full'), '0 new receipts')
  assert.equal(detail('usage log leaves equal their receipts'), '0 new receipts of 520')
  assert.match(detail('how far the audit went'), /^went on from the clean audit of .*; left a signed mark$/)
})
