// Goal: sums by tag and user equal the receipts to the unit, and any number of different ones leaves a bounded number of rows. Method:
// batches of receipts with random tags are booked and counted with a small bound, read page by page, and audited from mark to mark.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { tagsText } from '../../../contract/money/tags.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { countReceipts } from '../../../control/book/statistics/countReceipts.ts'
import type { UsageGroup } from '../../../control/book/usage/usageGroups.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { endedOf, type TestEnding } from '../../support/parts/endings.ts'
import { type Book, ensureOpen, fundedAccount, scalar, startBook } from '../../support/parts/ledger.ts'
import { bookEndings, usageGroups } from '../../support/parts/usage.ts'

const BOUND = 5
const DAY_MS = 86_400_000
/** All requests were held in one hour, whenever the test runs. */
const HELD_AT_MS = Date.now()
const CHECK = 'usage by tag and user equals the receipts'

let book: Book
let accountId: string
before(async () => {
  book = await startBook()
  accountId = await fundedAccount(book, 1_000_000_000)
  await ensureOpen(book)
})
after(() => book.stop())

/** Adds what is booked to the sums. */
async function counted(usageTagsMax = BOUND, statisticsTagBytesMax = 1_000_000): Promise<number> {
  const limits = limitsWith({ usageTagsMax, statisticsTagBytesMax })
  let steps = 1
  while (await countReceipts(book.pool, limits)) steps++
  return steps
}

/** Books receipts of 2 units each in one batch. */
async function booked(tagged: readonly TestEnding['settlement'][], by = accountId): Promise<void> {
  const endings = tagged.map((settlement) =>
    endedOf({
      accountId: by,
      charge: 2,
      heldAtMs: HELD_AT_MS,
      settlement: { tagsSalt: 'salt', holdUnits: 2, ...settlement },
    }),
  )
  await bookEndings(book.pool, by, endings)
}

const tags = (...names: string[]) =>
  tagsText(
    names.map((name) => ['t', name] as const),
    'tags',
    limits,
  )
const rows = (kind: string, hours: number, by = accountId) =>
  scalar<number>(book.pool, 'SELECT count(*) FROM usage_tags WHERE account_id = $1 AND kind = $2 AND hours = $3', [
    by,
    kind,
    hours,
  ])

/** What was booked without Redis is loaded into it. @returns how far the audit went */
async function audited(isFull = false): Promise<string> {
  await book.redis.flushall()
  await ensureOpen(book)
  const checks = await runAudit(book.pool, book.redis, limits, { marking: { isFull, key: undefined } })
  const found = checks.find(({ name }) => name === CHECK) ?? assert.fail(JSON.stringify(checks))
  assert.deepEqual(
    checks.filter(({ ok }) => !ok),
    [],
  )
  assert.ok(found.ok)
  return checks.at(-1)?.detail ?? ''
}

/** Every group of the account's usage, page by page. */
function usage(groupBy: readonly UsageGroup[], limit: number, by = accountId) {
  const today = Math.floor(HELD_AT_MS / DAY_MS)
  return usageGroups(book.pool, { accountId: by, groupBy, limit, fromDay: today, toDay: today })
}

test('many different tags and users leave a bounded number of rows, and no unit is lost', async () => {
  const some = (from: number) =>
    Array.from({ length: 500 }, (_, i) => ({ tags: tags(`${from + i}`), endUser: `u${from + i}` }))
  await booked(some(0))
  // The first are found again, and the others stay others.
  await booked([...some(250), ...some(0)])
  // A larger bound names none in a period that has others.
  await counted()
  await booked(some(10_000))
  await counted(100)
  await booked([{}, { endUser: 'u0' }])
  await booked([{ tags: tags('0') }])
  assert.equal(await counted(BOUND, 1), 2, 'one batch in a step')
  for (const kind of ['tag', 'user']) for (const hours of [1, 24]) assert.equal(await rows(kind, hours), BOUND + 1)
  for (const kind of ['tag', 'user'] as const) {
    const groups = await usage([kind], 2)
    assert.equal(groups.length, BOUND + 1)
    const [others, first] = [groups.find((group) => group[kind] === null), groups.find((group) => group[kind] !== null)]
    assert.equal(
      groups.reduce((sum, { requests }) => sum + requests, 0),
      2_001,
    )
    assert.equal(
      groups.reduce((sum, { cost }) => sum + Number(cost.units), 0),
      4_002,
    )
    assert.ok(Number(others?.requests) > 1_900)
    assert.deepEqual([first?.requests, first?.[kind]], [3, kind === 'user' ? 'u0' : { t: '0' }])
  }
  await audited(true)
})

test('an audit goes on from the mark of the one before', async () => {
  await booked([{ tags: tags('0'), endUser: 'u0' }, { tags: tags('another') }])
  assert.match(await audited(), /^went on from the clean audit/)
  const change = (by: number) =>
    book.pool.query(`UPDATE usage_tags SET units = units + $1 WHERE value = 't=0' AND hours = 24`, [by])
  await change(1)
  const checks = await runAudit(book.pool, book.redis, limits, { marking: { isFull: false, key: undefined } })
  assert.equal(checks.find(({ name }) => name === CHECK)?.ok, false)
  await change(-1)
  await audited()
})

test('receipts are read and audited before they are counted, whatever name they are counted under', async () => {
  const other = await fundedAccount(book, 1_000_000)
  const sums = async () =>
    (await usage(['user', 'hour'], 2, other)).map((group) => [group['user'], group.requests, group.cost.units])
  await booked([{ endUser: 'a' }, { endUser: 'b' }], other)
  await counted(3)
  await booked([{ endUser: 'b' }, { endUser: 'c' }, { endUser: 'd' }, { endUser: 'e' }], other)
  const before = ['a', 'b', 'c', 'd', 'e'].map((user) => [user, user === 'b' ? 2 : 1, user === 'b' ? '4' : '2'])
  assert.deepEqual(await sums(), before)
  // The mark has sums of values that get no row of their own afterwards.
  await audited()
  assert.deepEqual(await sums(), before)
  await counted(3)
  assert.deepEqual(await sums(), [[null, 2, '4'], ...before.slice(0, 3)])
  assert.match(await audited(), /^went on from the clean audit/)
  // Others of a period with others are others at once.
  await booked([{ endUser: 'e' }, { endUser: 'f' }], other)
  assert.deepEqual((await sums())[0], [null, 4, '8'])
  await audited()
  await counted(100)
  assert.deepEqual((await sums())[0], [null, 4, '8'])
  await audited()
  await book.pool.query(`UPDATE usage_tags SET units = units + 1 WHERE value = 'c' AND account_id = $1`, [other])
  await assert.rejects(audited())
  await book.pool.query(`UPDATE usage_tags SET units = units - 1 WHERE value = 'c' AND account_id = $1`, [other])
  await audited()
})

test('usage by tag is read by hour, day and month, the latest first', async () => {
  const other = await fundedAccount(book, 1_000_000)
  await booked(
    [
      {
        tags: tagsText(
          [
            ['a', 'ä'],
            ['b', ''],
          ],
          'tags',
          limits,
        ),
      },
      { tags: 'a=x' },
      {},
    ],
    other,
  )
  const now = new Date(HELD_AT_MS).toISOString()
  for (const [period, text] of [
    ['day', now.slice(0, 10)],
    ['month', now.slice(0, 7)],
    ['hour', `${now.slice(0, 13)}:00:00Z`],
  ] as const) {
    const groups = await usage(['tag', period], 1, other)
    assert.deepEqual(
      groups.map((group) => [group['tag'], group.requests, group.cost.units]),
      [
        [{ a: 'ä' }, 1, '2'],
        [{ a: 'x' }, 1, '2'],
        [{ b: '' }, 1, '2'],
      ],
      period,
    )
    assert.equal(groups[0]?.[period], text)
  }
  assert.deepEqual(await usage(['user', 'day'], 5, other), [])
})
