// Goal: usage that is read from rollups equals the receipts to the unit, whenever they are booked, counted and rolled up, by how many
// controls. Method: random receipts of half a year are booked in batches, rolled up in small steps between and beside them, read in all
// groups page by page, and compared with what was booked; audits compare the rollups with the sums of days.
import assert from 'node:assert/strict'
import { readFile } from 'node:fs/promises'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { newId } from '../../../contract/wire/ids.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { rollUp } from '../../../control/book/rollups/rollUp.ts'
import { countOutcomes } from '../../../control/book/statistics/countOutcomes.ts'
import { countReceipts } from '../../../control/book/statistics/countReceipts.ts'
import type { UsageGroup } from '../../../control/book/usage/usageGroups.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { endedOf } from '../../support/parts/endings.ts'
import { type Book, ensureOpen, fundedAccount, scalar, startBook } from '../../support/parts/ledger.ts'
import { bookEndings, type UsageGroupRow, usageGroups } from '../../support/parts/usage.ts'
import { rounds } from '../../support/rounds.ts'

const DAY_MS = 86_400_000
const TODAY = Math.floor(Date.now() / DAY_MS)
const DAYS = 180
const CHECK = 'usage rollups equal the usage by day'
const MIGRATION = new URL('../../../../control/runtime/db/schema/0508_usage_rollups.sql', import.meta.url)
const KEYS = 5
/** Every account is rolled up, a few days at a time. */
const eager = limitsWith({ usageRollupRowsMin: 1, usageRollupRowsMax: 6, usageRollupAccounts: 3 })

let book: Book
before(async () => {
  book = await startBook()
  await ensureOpen(book)
})
after(() => book.stop())

interface Planned {
  readonly day: number
  readonly key: number
  readonly model: string
  readonly user: string
  readonly isOk: boolean
  readonly units: number
}

const plannedOf = (day: fc.Arbitrary<number>): fc.Arbitrary<Planned> =>
  fc.record({
    day,
    key: fc.integer({ min: 0, max: KEYS - 1 }),
    model: fc.constantFrom('large', 'middle', 'small'),
    user: fc.constantFrom('', 'ann', 'bob'),
    isOk: fc.boolean(),
    units: fc.integer({ min: 1, max: 1_000 }),
  })
const planned = plannedOf(
  fc.oneof(fc.integer({ min: TODAY - DAYS, max: TODAY }), fc.integer({ min: TODAY - 4, max: TODAY })),
)

/** The keys of each account. */
const keys = new Map<string, string[]>()
const keyOf = (accountId: string, key: number): string => keys.get(accountId)?.[key] ?? assert.fail(accountId)

async function openAccount(): Promise<string> {
  const accountId = await fundedAccount(book, 1_000_000)
  const ids = Array.from({ length: KEYS }, () => newId('key'))
  keys.set(accountId, ids)
  return accountId
}

const endingOf = (accountId: string, { day, key, model, user, isOk, units }: Planned): Buffer =>
  endedOf({
    accountId,
    charge: isOk ? units : -1,
    heldAtMs: day * DAY_MS + 1,
    settlement: {
      keyId: keyOf(accountId, key),
      model,
      holdUnits: units,
      status: isOk ? sluice.Status.OK : sluice.Status.FAILED,
      errorCode: isOk ? '' : 'upstream_error',
      ...(user !== '' && { endUser: user, tags: `team=${user}`, tagsSalt: 'salt' }),
    },
  })

const NAMES = {
  day: ({ day }: Planned) => new Date(day * DAY_MS).toISOString().slice(0, 10),
  month: ({ day }: Planned) => new Date(day * DAY_MS).toISOString().slice(0, 7),
  key: ({ key }: Planned) => String(key),
  model: ({ model }: Planned) => model,
  outcome: ({ isOk }: Planned) => (isOk ? 'ok' : 'upstream_error'),
  user: ({ user }: Planned) => user,
  tag: ({ user }: Planned) => user,
} as const satisfies Partial<Record<UsageGroup, (plan: Planned) => string>>
type Name = keyof typeof NAMES
const MEMBERS: Partial<Record<Name, (row: UsageGroupRow, accountId: string) => unknown>> = {
  key: (row, accountId) => keys.get(accountId)?.indexOf(String(row['key_id'])),
  tag: (row) => (row['tag'] as { team: string }).team,
}

const GROUPINGS: readonly (readonly Name[])[] = [
  ['day'],
  ['month'],
  ['key'],
  ['model'],
  ['key', 'month'],
  ['day', 'model'],
  ['key', 'model'],
  ['model', 'month', 'key'],
  ['key', 'day', 'model'],
  ['outcome', 'day'],
  ['outcome', 'model'],
  ['month', 'outcome'],
  ['tag'],
  ['day', 'user'],
  ['month', 'tag'],
]

interface Reading {
  readonly groupBy: readonly Name[]
  readonly fromDay: number
  readonly toDay: number
  readonly limit: number
  readonly model: string
  readonly key: number
}

const reading: fc.Arbitrary<Reading> = fc
  .record({
    groupBy: fc.constantFrom(...GROUPINGS),
    from: fc.integer({ min: 0, max: DAYS }),
    length: fc.integer({ min: 0, max: DAYS }),
    limit: fc.integer({ min: 1, max: 12 }),
    model: fc.constantFrom('', '', 'small'),
    key: fc.constantFrom(-1, -1, 2),
  })
  .map(({ from, length, groupBy, model, key, ...rest }) => {
    const isFine = groupBy.some((name) => name === 'outcome' || name === 'tag' || name === 'user')
    const isTagged = groupBy.some((name) => name === 'tag' || name === 'user')
    const toDay = Math.min(TODAY, TODAY - DAYS + from + length)
    return {
      ...rest,
      groupBy,
      fromDay: TODAY - DAYS + from,
      toDay,
      model: isTagged ? '' : model,
      key: isFine ? -1 : key,
    }
  })

/** Requests and units of each group, as they were booked. */
function expected(
  plans: readonly Planned[],
  { groupBy, fromDay, toDay, model, key }: Reading,
): Map<string, [number, number]> {
  const sums = new Map<string, [number, number]>()
  for (const plan of plans) {
    if (plan.day < fromDay || plan.day > toDay) continue
    if ((model !== '' && plan.model !== model) || (key >= 0 && plan.key !== key)) continue
    if (plan.user === '' && groupBy.some((name) => name === 'tag' || name === 'user')) continue
    const name = groupBy.map((group) => NAMES[group](plan)).join(' ')
    const [requests, units] = sums.get(name) ?? [0, 0]
    sums.set(name, [requests + 1, units + (plan.isOk ? plan.units : 0)])
  }
  return new Map([...sums].sort())
}

async function read(accountId: string, { key, ...query }: Reading) {
  const keyId = key < 0 ? '' : keyOf(accountId, key)
  const groups = await usageGroups(book.pool, { accountId, keyId, ...query })
  const named = groups.map((row): [string, [number, number]] => [
    query.groupBy.map((name) => String(MEMBERS[name]?.(row, accountId) ?? row[name])).join(' '),
    [row.requests, Number(row.cost.units)],
  ])
  assert.equal(new Set(named.map(([name]) => name)).size, named.length, 'a group came twice')
  return new Map(named.sort())
}

function booked(accountId: string, plans: readonly Planned[]): Promise<void> {
  const endings = plans.map((plan) => endingOf(accountId, plan))
  return bookEndings(book.pool, accountId, endings)
}

/** Adds the receipts up as the loops do. */
async function counted(most = 1_000): Promise<void> {
  while (await countOutcomes(book.pool, limitsWith({ statisticsReceiptsMax: most })));
  while (await countReceipts(book.pool, limits));
}

/** Has the next pass begin, as that of the next day does. */
const nextPass = () => book.pool.query('UPDATE usage_rollup_pass SET until_day = until_day - 1')

async function rolledUp(steps = Number.POSITIVE_INFINITY): Promise<void> {
  for (let step = 0; step < steps && (await rollUp(book.pool, eager)); step++);
}

/** What was booked without Redis is loaded into it. @returns the fault of the rollups */
async function audited(): Promise<string | undefined> {
  await book.redis.flushall()
  await ensureOpen(book)
  const checks = await runAudit(book.pool, book.redis, limits, { marking: { isFull: true, key: undefined } })
  assert.ok(checks.some(({ name }) => name === CHECK))
  const faults = checks.filter(({ ok }) => !ok)
  assert.ok(
    faults.every(({ name }) => name === CHECK),
    JSON.stringify(faults),
  )
  return faults[0]?.detail
}

const rollups = (accountId: string) =>
  scalar<number>(book.pool, 'SELECT count(*) FROM usage_rollups WHERE account_id = $1', [accountId])
test('usage is what was booked, however far it is rolled up and whatever is booked of days that are', async () => {
  const accountIds: string[] = []
  await fc.assert(
    fc.asyncProperty(
      fc.array(fc.array(planned, { minLength: 1, maxLength: 12 }), { minLength: 1, maxLength: 4 }),
      fc.array(fc.nat(12), { minLength: 4, maxLength: 4 }),
      fc.array(fc.boolean(), { minLength: 4, maxLength: 4 }),
      fc.array(reading, { minLength: 12, maxLength: 12 }),
      async (batches, steps, counts, readings) => {
        const accountId = await openAccount()
        accountIds.push(accountId)
        const plans: Planned[] = []
        for (const [i, batch] of batches.entries()) {
          await booked(accountId, batch)
          plans.push(...batch)
          if (counts[i] === true) await counted(3)
          await nextPass()
          await rolledUp(steps[i])
          for (const each of readings.slice(i * 3, i * 3 + 3)) {
            assert.deepEqual(await read(accountId, each), expected(plans, each), JSON.stringify(each))
          }
        }
      },
    ),
    { numRuns: rounds({ short: 8, long: 150 }), endOnFailure: true },
  )
  await nextPass()
  await rolledUp()
  assert.ok((await rollups(accountIds[0] ?? '')) > 0)
  await counted()
  assert.equal(await audited(), undefined)
})

test('what controls book and count beside those that roll up is in the rollups once', async () => {
  const accountId = await openAccount()
  const plans = fc.sample(planned, { numRuns: 240, seed: 5 })
  await booked(accountId, plans.slice(0, 120))
  await nextPass()
  const late = Array.from({ length: 12 }, (_, i) => plans.slice(120 + i * 10, 130 + i * 10))
  const bookLate = async (): Promise<void> => {
    for (let batch = late.shift(); batch !== undefined; batch = late.shift()) {
      await booked(accountId, batch)
      await counted(5)
    }
  }
  await Promise.all([rolledUp(), rolledUp(), bookLate(), bookLate()])
  for (const groupBy of GROUPINGS) {
    const each = { groupBy, fromDay: TODAY - DAYS, toDay: TODAY, limit: 9, model: '', key: -1 }
    assert.deepEqual(await read(accountId, each), expected(plans, each), groupBy.join())
  }
  await counted()
  assert.equal(await audited(), undefined)
})

test('accounts with little usage have no rollups, and days that are not over are in none', async () => {
  const accountId = await openAccount()
  await booked(accountId, fc.sample(plannedOf(fc.constant(TODAY - 9)), { numRuns: 5, seed: 3 }))
  await nextPass()
  const few = limitsWith({ usageRollupRowsMin: 100 })
  while (await rollUp(book.pool, few));
  assert.equal(await rollups(accountId), 0)
  await nextPass()
  await rolledUp()
  const until = await scalar<number>(book.pool, 'SELECT until_day FROM usage_rollup_ends WHERE account_id = $1', [
    accountId,
  ])
  assert.ok(until <= Math.floor(Date.now() / DAY_MS) && until >= TODAY - 1, String(until - TODAY))
  assert.ok((await rollups(accountId)) > 0)
})

test('the audit finds a rollup that differs, is missing or is of nothing; the migration leaves them as they are', async () => {
  const change = async (sql: string): Promise<string | undefined> => {
    await book.pool.query('CREATE TABLE kept AS SELECT * FROM usage_rollups')
    await book.pool.query(sql)
    const fault = await audited()
    await book.pool.query('DELETE FROM usage_rollups; INSERT INTO usage_rollups SELECT * FROM kept; DROP TABLE kept')
    return fault
  }
  assert.equal(await change(await readFile(MIGRATION, 'utf8')), undefined)
  for (const kind of ['all', 'key_model', 'outcome', 'user']) {
    const fault = await change(`UPDATE usage_rollups SET output_tokens = output_tokens + 1 WHERE kind = '${kind}'`)
    assert.match(fault ?? '', new RegExp(`, ${kind} `))
  }
  assert.match((await change(`DELETE FROM usage_rollups WHERE span = 'month'`)) ?? '', /in the month from day/)
  assert.match(
    (await change(`INSERT INTO usage_rollups VALUES ('acct_x', 'day', 'all', 1, '', '', 1, 1, 1, 1, 1)`)) ?? '',
    /^acct_x, all/,
  )
})
