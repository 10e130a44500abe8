import assert from 'node:assert/strict'
import { test } from 'node:test'
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import type { QueryConfig, QueryResult } from 'pg'
import { fillBook } from '../../../bench/growth/fill.ts'
import { addAllReceipts, ReceiptFindings } from '../../../control/audit/addReceipts.ts'
import { Progress } from '../../../control/audit/progress.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { inWorkspace } from '../../../control/audit/workspace.ts'
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

test('an audit finds its ranges of receipts by the index, where the server has no statistics', async (t) => {
  const book = await startBook()
  t.after(() => book.stop())
  await fillBook(book.pool, 5_000, () => {})
  const plans: string[] = []
  await inWorkspace(book.pool, false, async (client) => {
    const query = client.query.bind(client) as (...values: unknown[]) => Promise<QueryResult>
    const explained = async (statement: string | QueryConfig, ...more: unknown[]) => {
      if (typeof statement !== 'string' && statement.text.includes('ORDER BY request_id LIMIT')) {
        const plan = await query({ text: `EXPLAIN ${statement.text}`, values: statement.values, rowMode: 'array' })
        plans.push((plan.rows as unknown as string[][]).join('\n'))
      }
      return query(statement, ...more)
    }
    Object.assign(client, { query: explained })
    const limits = { ...ledgerLimits, auditSumReceipts: 1_000 }
    const findings = new ReceiptFindings()
    await addAllReceipts(client, findings, new Progress(undefined), limits).finally(() =>
      Object.assign(client, { query }),
    )
    assert.equal(findings.receipts, 5_000)
  })
  assert.equal(plans.length, 6)
  for (const plan of plans) assert.ok(!/Seq Scan on receipts_\d/.test(plan), plan)
})
