import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import { fillBook } from '../../../bench/growth/fill.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { ledgerLimits } from '../../support/limits.ts'
import { startBook } from '../../support/parts/ledger.ts'

const RECEIPTS = 30_000
/** Less than 300 bytes for each receipt. */
const GROWTH_MAX_BYTES = 8 * 1_048_576

setFlagsFromString('--expose-gc')
const collectGarbage = runInNewContext('gc') as () => void

test('an audit holds no receipts in memory after reading them', async (t) => {
  const book = await startBook()
  t.after(() => book.stop())
  await fillBook(book.pool, RECEIPTS, () => {})
  const limits = { ...ledgerLimits, auditSumReceipts: 2_000, auditRechecksMax: 1 }
  const liveBytes: number[] = []
  let lastRows = 0
  const onProgress = (rows: number, total: number) => {
    assert.equal(total, 2 * RECEIPTS)
    assert.ok(rows >= lastRows)
    if (rows === lastRows) return
    lastRows = rows
    collectGarbage()
    const { heapUsed, external } = process.memoryUsage()
    liveBytes.push(heapUsed + external)
  }
  // The book was made up: its leaves are not those of its receipts, and its coin came from nowhere.
  const checks = await runAudit(book.pool, book.redis, limits, { onProgress })
  assert.equal(lastRows, 2 * RECEIPTS)
  const sound = checks.filter(({ ok }) => ok).map(({ name }) => name)
  assert.ok(sound.includes('every charge is booked in full'))
  assert.ok(sound.includes('key usage equals the receipts and debits'))
  const growth = Math.max(...liveBytes) - (liveBytes[0] ?? 0)
  assert.ok(growth < GROWTH_MAX_BYTES, `${growth} bytes more at ${RECEIPTS} receipts`)
})
