// Goal: the public statistics are what a recomputation from the receipts gives, whatever was booked late, twice or by several.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { DAY_MS } from '../../../contract/api/time.ts'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import type { Entry } from '../../../control/book/settlement/entry.ts'
import { BOUNDS_MS } from '../../../control/book/statistics/buckets.ts'
import { OTHERS } from '../../../control/book/statistics/cell.ts'
import { countReceipts } from '../../../control/book/statistics/countReceipts.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { statsJson } from '../../../control/statistics/stats.ts'
import { type LimitChanges, limitsWith } from '../../support/limits.ts'
import { assertCleanAudit, type Book, ensureOpen, newAccount, startBook } from '../../support/parts/ledger.ts'
import { someUse, USE_ACCOUNTS, USE_DAYS, type Use, useBatch } from '../../support/parts/randomUse.ts'
import { present } from '../../support/present.ts'

const COIN = 1_000_000_000
const TODAY = Math.floor(Date.now() / DAY_MS)

let book: Book
const accountIds: string[] = []
before(async () => {
  book = await startBook()
  for (let i = 0; i < USE_ACCOUNTS; i++) accountIds.push(await newAccount(book.pool, COIN))
})
after(() => book.stop())

type Step =
  | { readonly kind: 'book'; readonly uses: readonly Use[] }
  | { readonly kind: 'again' }
  /** As if a control of the version before had booked them, which leaves no sums. */
  | { readonly kind: 'forget' }
  | { readonly kind: 'count'; readonly times: number }

/** Books and counts in some order; several processes count at once. The last count comes when nothing is left. */
async function play(steps: readonly Step[], changes: LimitChanges): Promise<void> {
  const limits = limitsWith({ statisticsReceiptsMax: 7, statisticsBatchesMax: 2, ...changes })
  const count = () => countReceipts(book.pool, limits)
  let last: Entry[] = []
  for (const step of steps) {
    if (step.kind === 'book') {
      last = useBatch(accountIds, step.uses)
      if (last.length > 0) await bookBatch(book.pool, last)
    } else if (step.kind === 'again') {
      if (last.length > 0) assert.equal((await bookBatch(book.pool, last)).receipts, 0)
    } else if (step.kind === 'forget') {
      await book.pool.query('DELETE FROM statistics_batches WHERE id % 2 = 0')
    } else {
      await Promise.all(Array.from({ length: step.times }, count))
    }
  }
  while (await count());
}

const someSteps: fc.Arbitrary<Step[]> = fc.array(
  fc.oneof(
    fc.record({ kind: fc.constant('book' as const), uses: fc.array(someUse, { maxLength: 12 }) }),
    fc.record({ kind: fc.constant('count' as const), times: fc.integer({ min: 1, max: 2 }) }),
    fc.constant({ kind: 'again' as const }),
    fc.constant({ kind: 'forget' as const }),
  ),
  { minLength: 3, maxLength: 10 },
)

interface ReceiptRow {
  readonly day: number
  readonly model: string
  readonly account_id: string
  readonly status: string
  readonly error_code: string
  readonly streamed: boolean
  readonly charge_units: number
  readonly input_tokens: number
  readonly duration_ms: number
  readonly first_byte_ms: number
}

async function receipts(): Promise<ReceiptRow[]> {
  const { rows } = await book.pool.query<ReceiptRow>(
    'SELECT *, (held_at_ms / 86400000)::integer AS day FROM receipts ORDER BY request_id',
  )
  return rows
}

/** The bound of the bucket of the exact percentile. */
function percentile(times: readonly number[], percent: number): number | null {
  const sorted = [...times].sort((a, b) => a - b)
  const exact = sorted[Math.ceil((sorted.length * percent) / 100) - 1]
  return exact === undefined ? null : present(BOUNDS_MS.find((bound) => exact <= bound))
}

/** What the answer has to say of some receipts, straight from their columns. */
function recomputed(rows: readonly ReceiptRow[]) {
  const ok = rows.filter((row) => row.status === 'ok')
  const left = rows.filter((row) => row.status !== 'ok' && row.error_code === 'client_gone')
  const times = ok.map((row) => row.duration_ms)
  const firsts = rows.filter((row) => row.streamed && row.first_byte_ms > 0).map((row) => row.first_byte_ms)
  return {
    requests: rows.length,
    ok: ok.length,
    ended_by_client: left.length,
    failed: rows.length - ok.length - left.length,
    input: rows.reduce((sum, row) => sum + row.input_tokens, 0),
    total: rows.reduce((sum, row) => sum + row.input_tokens + 2 + 1 + 3, 0),
    units: String(rows.reduce((sum, row) => sum + row.charge_units, 0)),
    latency: [times.length, percentile(times, 50), percentile(times, 99)],
    first: [firsts.length, percentile(firsts, 50), percentile(firsts, 99)],
  }
}

type Shown = Awaited<ReturnType<typeof statsJson>>['total']

const shown = ({ requests, ok, ended_by_client, failed, tokens, charge, latency_ms: l, first_token_ms: f }: Shown) => ({
  requests,
  ok,
  ended_by_client,
  failed,
  input: tokens.input,
  total: tokens.total,
  units: charge.units,
  latency: [l.count, l.p50, l.p99],
  first: [f.count, f.p50, f.p99],
})

test('with a minimum of one account, all usage is published with its day and model', async () => {
  await fc.assert(
    fc.asyncProperty(someSteps, async (steps) => {
      await play(steps, { statsAccountsMin: 1 })
      const stats = await statsJson(book.pool, { days: USE_DAYS }, limitsWith({ statsAccountsMin: 1 }))
      const rows = await receipts()
      assert.deepEqual(shown(stats.total), recomputed(rows))
      assert.equal(stats.all_time.requests, rows.length)
      assert.equal(stats.others.requests, 0)
      for (const { day, ...figures } of stats.days) {
        const ofDay = rows.filter((row) => row.day * DAY_MS === Date.parse(`${day}T00:00:00Z`))
        assert.deepEqual(shown(figures), recomputed(ofDay))
      }
      for (const { model, ...figures } of stats.models) {
        const ofModel = rows.filter((row) => row.model === model)
        assert.deepEqual(shown(figures), recomputed(ofModel))
        const alone = await statsJson(book.pool, { days: USE_DAYS, model }, limitsWith({}))
        assert.deepEqual(shown(alone.total), recomputed(ofModel))
      }
      assert.deepEqual(
        stats.models.map(({ model }) => model),
        [...new Set(rows.map((row) => row.model))].sort(),
      )
    }),
    { numRuns: 8 },
  )
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('with a higher minimum, no usage is lost, and unpublished usage waits', async () => {
  await fc.assert(
    fc.asyncProperty(someSteps, async (steps) => {
      await play(steps, { statsAccountsMin: 4, statisticsFoldMs: DAY_MS })
      const { rows } = await book.pool.query<{ day: number; model: string; requests: number; units: number }>(
        `SELECT day, model, sum(requests) AS requests, sum(units) AS units FROM (
           SELECT day, model, requests, units FROM public_statistics
           UNION ALL SELECT day, model, requests, units FROM waiting_statistics
         ) AS counted GROUP BY 1, 2`,
      )
      const all = await receipts()
      const sum = (name: 'requests' | 'units') => rows.reduce((total, row) => total + row[name], 0)
      assert.equal(sum('requests'), all.length)
      assert.equal(
        sum('units'),
        all.reduce((total, row) => total + row.charge_units, 0),
      )
      for (const { day, model, requests } of rows) {
        if (model === OTHERS) continue
        assert.ok(requests <= all.filter((row) => row.day === day && row.model === model).length)
      }
      const { rows: waiting } = await book.pool.query<{ day: number; owners: string[] }>(
        'SELECT day, owners FROM waiting_statistics',
      )
      for (const { owners } of waiting) assert.ok(owners.length < 4)
      for (const { day } of waiting) assert.ok(day === -1 || day >= TODAY - 1, `day ${day} is over and waits`)
    }),
    { numRuns: 6 },
  )
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('agents count as part of their account', async () => {
  const limits = limitsWith({ statsAccountsMin: 3 })
  const owner = present(accountIds[0])
  const agents = [present(accountIds[2]), present(accountIds[3])]
  await withTransaction(book.pool, async (client) => {
    // Their keys and accounts do not matter here.
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(
      `INSERT INTO agents (id, owner_id, slug, key_id) SELECT id, $2, 'agent-' || id, 'key-' || id FROM unnest($1::text[]) AS id`,
      [agents, owner],
    )
  })
  const ended = { status: 'OK', errorCode: '', input: 1, durationMs: 1, firstByteMs: 0 } as const
  const use: Omit<Use, 'account'> = { model: 'acme/agents', daysAgo: 0, ...ended }
  const told = async () => (await statsJson(book.pool, { days: 1, model: use.model }, limits)).total.requests
  await bookBatch(
    book.pool,
    useBatch(
      accountIds,
      [0, 1, 2, 3].map((account) => ({ ...use, account })),
    ),
  )
  while (await countReceipts(book.pool, limits));
  assert.equal(await told(), 0)
  await bookBatch(book.pool, useBatch(accountIds, [{ ...use, account: 4 }]))
  while (await countReceipts(book.pool, limits));
  assert.equal(await told(), 5)
  await book.pool.query('DELETE FROM agents WHERE id = ANY ($1)', [agents])
})
