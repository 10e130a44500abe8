// Goal: sums by provider and outcome equal the receipts to the unit, however far they are counted, of every version that books. Method:
// random receipts of several days, models, providers and endings are booked in batches; some are counted between them, and what is read
// is compared with what was booked. Audits go on from mark to mark.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { countOutcomes } from '../../../control/book/statistics/countOutcomes.ts'
import { countReceipts } from '../../../control/book/statistics/countReceipts.ts'
import type { UsageGroup } from '../../../control/book/usage/usageGroups.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { endedOf } from '../../support/parts/endings.ts'
import { type Book, ensureOpen, fundedAccount, scalar, startBook } from '../../support/parts/ledger.ts'
import { bookEndings, usageGroups } from '../../support/parts/usage.ts'
import { rounds } from '../../support/rounds.ts'

const DAY_MS = 86_400_000
const TODAY = Math.floor(Date.now() / DAY_MS)
const CHECK = 'usage by provider and outcome equals the receipts'
const { OK, PARTIAL, FAILED, CUT } = sluice.Status

let book: Book
let others: Planned[] = []
before(async () => {
  book = await startBook()
  await ensureOpen(book)
})
after(() => book.stop())

interface Planned {
  readonly day: number
  readonly model: string
  readonly provider: string
  readonly ending: { readonly status: number; readonly errorCode: string; readonly outcome: string }
  readonly units: number
}

const planned: fc.Arbitrary<Planned> = fc.record({
  day: fc.integer({ min: TODAY - 40, max: TODAY }),
  model: fc.constantFrom('small', 'large'),
  provider: fc.constantFrom('', 'first', 'second'),
  ending: fc.constantFrom(
    { status: OK, errorCode: '', outcome: 'ok' },
    { status: PARTIAL, errorCode: 'client_gone', outcome: 'client_gone' },
    { status: PARTIAL, errorCode: '', outcome: 'partial' },
    { status: FAILED, errorCode: 'upstream_error', outcome: 'upstream_error' },
    { status: CUT, errorCode: '', outcome: 'cut' },
  ),
  units: fc.integer({ min: 1, max: 1_000 }),
})

const isCharged = ({ ending }: Planned) => ending.status === OK || ending.status === PARTIAL
const chargeOf = (plan: Planned): number => (isCharged(plan) ? plan.units : 0)

const endingOf = (accountId: string, plan: Planned): Buffer =>
  endedOf({
    accountId,
    charge: isCharged(plan) ? plan.units : -1,
    heldAtMs: plan.day * DAY_MS + 1,
    settlement: {
      model: plan.model,
      provider: plan.provider,
      status: plan.ending.status,
      errorCode: plan.ending.errorCode,
      holdUnits: plan.units,
    },
  })

type Named = (plan: Planned) => string
const NAMES = {
  day: ({ day }) => new Date(day * DAY_MS).toISOString().slice(0, 10),
  month: ({ day }) => new Date(day * DAY_MS).toISOString().slice(0, 7),
  model: ({ model }) => model,
  provider: ({ provider }) => provider || 'null',
  outcome: ({ ending }) => ending.outcome,
} as const satisfies Partial<Record<UsageGroup, Named>>
type Name = keyof typeof NAMES

/** Requests and units of each group, as they were booked. */
function expected(plans: readonly Planned[], groupBy: readonly Name[]): Map<string, [number, number]> {
  const sums = new Map<string, [number, number]>()
  for (const plan of plans) {
    const name = groupBy.map((group) => NAMES[group](plan)).join(' ')
    const [requests, units] = sums.get(name) ?? [0, 0]
    sums.set(name, [requests + 1, units + chargeOf(plan)])
  }
  return sums
}

async function read(accountId: string | undefined, groupBy: readonly Name[], model = '') {
  const days = { fromDay: TODAY - 40, toDay: TODAY }
  const groups = await usageGroups(book.pool, { accountId, groupBy, limit: 2, model, ...days })
  return new Map(
    groups.map((group) => [
      groupBy.map((name) => String(group[name])).join(' '),
      [group.requests, Number(group.cost.units)] as [number, number],
    ]),
  )
}

/** What was booked without Redis is loaded into it. */
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

test('sums by provider and outcome are those of the receipts, whether they were counted or not', async () => {
  const groupings = [['provider', 'outcome'], ['day', 'outcome'], ['outcome', 'month', 'model'], ['provider']] as const
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(planned, { minLength: 1, maxLength: 8 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.integer({ min: 1, max: 5 }), { maxLength: 4 }),
      async (batches, steps) => {
        const accountId = await fundedAccount(book, 1_000_000)
        for (const [i, batch] of batches.entries()) {
          await bookEndings(
            book.pool,
            accountId,
            batch.map((plan) => endingOf(accountId, plan)),
          )
          const most = steps[i]
          if (most !== undefined) await countOutcomes(book.pool, limitsWith({ statisticsReceiptsMax: most }))
        }
        const plans = batches.flat()
        for (const groupBy of groupings) {
          assert.deepEqual(await read(accountId, groupBy), expected(plans, groupBy), groupBy.join())
        }
        const small = plans.filter(({ model }) => model === 'small')
        assert.deepEqual(await read(accountId, ['outcome'], 'small'), expected(small, ['outcome']))
        others = [...others, ...plans]
        assert.deepEqual(await read(undefined, ['provider', 'day']), expected(others, ['provider', 'day']))
      },
    ),
    { numRuns: rounds({ short: 20, long: 200 }), endOnFailure: true },
  )
  await audited()
  while (await countOutcomes(book.pool, limits));
  while (await countReceipts(book.pool, limits));
  assert.deepEqual(await read(undefined, ['provider', 'outcome']), expected(others, ['provider', 'outcome']))
  assert.match(await audited(), /^went on from the clean audit/)
})

test('processes that count concurrently count each receipt once', async () => {
  const accountId = await fundedAccount(book, 1_000_000)
  const plans = fc.sample(planned, { numRuns: 40, seed: 7 })
  await bookEndings(
    book.pool,
    accountId,
    plans.map((plan) => endingOf(accountId, plan)),
  )
  const few = limitsWith({ statisticsReceiptsMax: 7 })
  await Promise.all(
    Array.from({ length: 4 }, async () => {
      while (await countOutcomes(book.pool, few));
    }),
  )
  const counted = await scalar<number>(
    book.pool,
    'SELECT sum(requests)::integer FROM usage_outcomes WHERE account_id = $1',
    [accountId],
  )
  assert.equal(counted, plans.length)
  assert.deepEqual(await read(accountId, ['outcome']), expected(plans, ['outcome']))
  await audited()
})
