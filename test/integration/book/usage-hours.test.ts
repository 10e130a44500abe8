// Goal: sums of all accounts by hour, provider, model and outcome equal the receipts to the unit, in whatever way they came into the
// book. Method: random receipts of two accounts are booked in batches, as by a version before some of the time, and counted between
// them; what is read is compared with what was booked. Audits go on from mark to mark.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { ALL_USAGE_GROUPS } from '../../../contract/api/accountRoutes.ts'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { countReceipts } from '../../../control/book/statistics/countReceipts.ts'
import type { UsageGroup } from '../../../control/book/usage/usageGroups.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { endedOf } from '../../support/parts/endings.ts'
import { type Book, ensureOpen, fundedAccount, scalar, startBook } from '../../support/parts/ledger.ts'
import { bookEndings, type UsageGroupRow, usageGroups } from '../../support/parts/usage.ts'
import { rounds } from '../../support/rounds.ts'

const HOUR_MS = 3_600_000
const NOW = Math.floor(Date.now() / HOUR_MS)
const DAYS = { fromDay: Math.floor(NOW / 24) - 3, toDay: Math.floor(NOW / 24) }
const CHECK = 'usage by hour equals the receipts'
const { OK, PARTIAL, FAILED } = sluice.Status

let book: Book
let accountIds: readonly string[]
const all: Planned[] = []
before(async () => {
  book = await startBook()
  accountIds = [await fundedAccount(book, 1_000_000_000), await fundedAccount(book, 1_000_000_000)]
  await ensureOpen(book)
})
after(() => book.stop())

interface Planned {
  readonly account: number
  readonly hour: number
  readonly model: string
  readonly provider: string
  readonly ending: { readonly status: number; readonly errorCode: string; readonly outcome: string }
  readonly units: number
  readonly usage: Readonly<
    Record<'input' | 'cachedInput' | 'cacheWrite_5m' | 'cacheWrite_1h' | 'output' | 'reasoning', number>
  >
}

const tokens = fc.integer({ min: 0, max: 50 })
const planned: fc.Arbitrary<Planned> = fc.record({
  account: fc.integer({ min: 0, max: 1 }),
  hour: fc.integer({ min: NOW - 30, max: NOW }),
  model: fc.constantFrom('small', 'large'),
  provider: fc.constantFrom('', 'first', 'second'),
  ending: fc.constantFrom(
    { status: OK, errorCode: '', outcome: 'ok' },
    { status: PARTIAL, errorCode: 'client_gone', outcome: 'client_gone' },
    { status: FAILED, errorCode: 'upstream_error', outcome: 'upstream_error' },
  ),
  units: fc.integer({ min: 1, max: 1_000 }),
  usage: fc.record({
    input: tokens,
    cachedInput: tokens,
    cacheWrite_5m: tokens,
    cacheWrite_1h: tokens,
    output: tokens,
    reasoning: tokens,
  }),
})

const isCharged = ({ ending }: Planned) => ending.status !== FAILED

const endingOf = (plan: Planned): Buffer =>
  endedOf({
    accountId: accountIds[plan.account] as string,
    charge: isCharged(plan) ? plan.units : -1,
    heldAtMs: plan.hour * HOUR_MS + 1,
    settlement: {
      usage: plan.usage,
      model: plan.model,
      provider: plan.provider,
      status: plan.ending.status,
      errorCode: plan.ending.errorCode,
      holdUnits: plan.units,
    },
  })

const NAMES = {
  hour: ({ hour }: Planned) => `${new Date(hour * HOUR_MS).toISOString().slice(0, 13)}:00:00Z`,
  provider: ({ provider }: Planned) => provider || 'null',
  model: ({ model }: Planned) => model,
  outcome: ({ ending }: Planned) => ending.outcome,
} as const satisfies Partial<Record<UsageGroup, (plan: Planned) => string>>
type Name = keyof typeof NAMES

/** In the order of `figuresOf`. */
function sumsOf({ usage, ...plan }: Planned): readonly number[] {
  const written = usage.cacheWrite_5m + usage.cacheWrite_1h
  const input = usage.input + usage.cachedInput + written
  const units = isCharged({ usage, ...plan }) ? plan.units : 0
  return [1, units, input, usage.cachedInput, written, usage.output, usage.reasoning]
}

const figuresOf = (group: UsageGroupRow): readonly number[] => [
  group.requests,
  Number(group.cost.units),
  ...['input_tokens', 'cached_input_tokens', 'cache_write_tokens', 'output_tokens', 'reasoning_tokens'].map((name) =>
    Number(group[name]),
  ),
]

function expected(plans: readonly Planned[], groupBy: readonly Name[]): Map<string, readonly number[]> {
  const sums = new Map<string, readonly number[]>()
  for (const plan of plans) {
    const name = groupBy.map((group) => NAMES[group](plan)).join(' ')
    const known = sums.get(name)
    sums.set(
      name,
      sumsOf(plan).map((figure, i) => figure + (known?.[i] ?? 0)),
    )
  }
  return sums
}

async function read(groupBy: readonly Name[], model = '') {
  const groups = await usageGroups(book.pool, { accountId: undefined, groupBy, limit: 7, model, ...DAYS })
  return new Map(groups.map((group) => [groupBy.map((name) => String(group[name])).join(' '), figuresOf(group)]))
}

async function bookAll(plans: readonly Planned[]): Promise<void> {
  for (const [account, id] of accountIds.entries()) {
    const own = plans.filter((plan) => plan.account === account)
    if (own.length > 0) await bookEndings(book.pool, id, own.map(endingOf))
  }
  all.push(...plans)
}

/** What happens between two batches. */
const AFTER = {
  nothing: () => Promise.resolve(),
  counted: (most: number) => countReceipts(book.pool, limitsWith({ statisticsReceiptsMax: most })),
  /** As a version before has booked them. */
  bookedBefore: () => book.pool.query('UPDATE statistics_batches SET hours = NULL WHERE id % 2 = 0'),
  unstaged: () => book.pool.query('DELETE FROM statistics_batches WHERE id % 2 = 1'),
  /** As a version before has counted them. */
  countedBefore: async (most: number) => {
    const { rows } = await book.pool.query<{ log: number; hours_position: number }>(
      'SELECT log, hours_position FROM statistics_cursors',
    )
    const { rows: hours } = await book.pool.query('SELECT * FROM usage_hours')
    await countReceipts(book.pool, limitsWith({ statisticsReceiptsMax: most }))
    await book.pool.query('DELETE FROM usage_hours')
    await book.pool.query(
      'INSERT INTO usage_hours SELECT * FROM json_populate_recordset(NULL::usage_hours, $1::json)',
      [JSON.stringify(hours)],
    )
    for (const { log, hours_position } of rows) {
      await book.pool.query('UPDATE statistics_cursors SET hours_position = $2 WHERE log = $1', [log, hours_position])
    }
  },
} as const

async function audited(): Promise<string> {
  await book.redis.flushall()
  await ensureOpen(book)
  const checks = await runAudit(book.pool, book.redis, limits, { marking: { isFull: false, key: undefined } })
  assert.deepEqual(
    checks.filter(({ ok }) => !ok),
    [],
  )
  assert.ok(checks.some(({ name }) => name === CHECK))
  return checks.at(-1)?.detail ?? ''
}

const GROUPINGS = [['hour', 'provider', 'model', 'outcome'], ['hour'], ['outcome', 'hour']] as const
const steps = fc.array(
  fc.record({
    batch: fc.array(planned, { minLength: 1, maxLength: 8 }),
    next: fc.constantFrom(...(Object.keys(AFTER) as (keyof typeof AFTER)[])),
    most: fc.integer({ min: 1, max: 20 }),
  }),
  { minLength: 1, maxLength: 5 },
)

test('sums by hour are those of the receipts, whichever version booked and counted them', async () => {
  await fc.assert(
    fc.asyncProperty(steps, async (played) => {
      for (const { batch, next, most } of played) {
        await bookAll(batch)
        await AFTER[next](most)
      }
      for (const groupBy of GROUPINGS) assert.deepEqual(await read(groupBy), expected(all, groupBy), groupBy.join())
      const small = all.filter(({ model }) => model === 'small')
      assert.deepEqual(await read(['hour', 'provider'], 'small'), expected(small, ['hour', 'provider']))
    }),
    { numRuns: rounds({ short: 12, long: 120 }), endOnFailure: true },
  )
  await audited()
  while (await countReceipts(book.pool, limits));
  assert.deepEqual(await read(GROUPINGS[0]), expected(all, GROUPINGS[0]))
  assert.match(await audited(), /^went on from the clean audit/)
  const rows = await scalar<number>(book.pool, 'SELECT count(*) FROM usage_hours')
  assert.equal(rows, expected(all, GROUPINGS[0]).size)
})

test('receipts that are not staged are not counted before a batch of their log that is staged', async () => {
  while (await countReceipts(book.pool, limits));
  const plan = (hour: number): Planned => ({
    ...(fc.sample(planned, { numRuns: 1, seed: hour })[0] as Planned),
    account: 0,
    hour,
  })
  await bookAll([plan(NOW)])
  await bookAll([plan(NOW), plan(NOW), plan(NOW)])
  await book.pool.query('DELETE FROM statistics_batches WHERE id = (SELECT max(id) FROM statistics_batches)')
  for (let isMore = true; isMore; ) {
    isMore = await countReceipts(book.pool, limitsWith({ statisticsReceiptsMax: 1 }))
    assert.deepEqual(await read(['hour']), expected(all, ['hour']))
    await audited()
  }
})

test('processes that count concurrently count each receipt once', async () => {
  await bookAll(fc.sample(planned, { numRuns: 40, seed: 7 }))
  const few = limitsWith({ statisticsReceiptsMax: 7, statisticsBatchesMax: 1 })
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (await countReceipts(book.pool, few));
    }),
  )
  assert.deepEqual(await read(GROUPINGS[0]), expected(all, GROUPINGS[0]))
  await audited()
})

test('usage of one account has no hours of all accounts', async () => {
  const query = { groupBy: ['hour', 'model'] as const, limit: 5, ...DAYS }
  await assert.rejects(usageGroups(book.pool, { accountId: accountIds[0], ...query }), /by tag or user/)
  for (const groups of ['hour', 'hour,provider', 'outcome,hour,model', 'day,hour'])
    assert.ok(ALL_USAGE_GROUPS.test(groups))
  for (const groups of ['hour,account', 'hour,key', 'hour,model,account']) assert.ok(!ALL_USAGE_GROUPS.test(groups))
})
