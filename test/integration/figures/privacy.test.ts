// Goal: what one account does can be read nowhere as long as fewer accounts than are needed are behind it. Method: two books
// that differ in the use of one account are asked the same, after every count.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import fc from 'fast-check'
import { bookBatch } from '../../../control/book/settlement/bookBatch.ts'
import { countReceipts } from '../../../control/book/statistics/countReceipts.ts'
import { rankingsJson } from '../../../control/statistics/rankings.ts'
import { statsJson } from '../../../control/statistics/stats.ts'
import { limitsWith } from '../../support/limits.ts'
import { assertCleanAudit, type Book, ensureOpen, newAccount, startBook } from '../../support/parts/ledger.ts'
import { someUse, USE_ACCOUNTS, type Use, useBatch } from '../../support/parts/randomUse.ts'

const COIN = 1_000_000_000
const limits = limitsWith({ statsAccountsMin: 5, statisticsBatchesMax: 3 })
/** Behind models that are used by it and by three more. */
const SINGLE = 0
const FEW = 4

interface World {
  readonly book: Book
  readonly accountIds: readonly string[]
}

const worlds: World[] = []
before(async () => {
  for (let i = 0; i < 2; i++) {
    const book = await startBook()
    const accountIds: string[] = []
    for (let account = 0; account < USE_ACCOUNTS; account++) accountIds.push(await newAccount(book.pool, COIN))
    worlds.push({ book, accountIds })
  }
})
after(() => Promise.all(worlds.map(({ book }) => book.stop())))

/** Everything that anybody may ask of what was used. Models of few accounts are asked for by name as well. */
async function answers({ book: { pool } }: World, nowMs: number): Promise<{ told: number; all: unknown[] }> {
  const queries = [{ days: 1 }, { days: 30 }, { model: 'few/one' }, { model: 'few/two' }, { model: 'crowd/one' }]
  const stats = await Promise.all(queries.map((query) => statsJson(pool, query, limits, nowMs)))
  const rankings = await Promise.all(
    ['models', 'makers'].flatMap((of) => {
      return ['tokens', 'charge', 'requests', 'growth'].map((by) => rankingsJson(pool, { of, by }, limits, nowMs))
    }),
  )
  return { told: stats[0]?.total.requests ?? 0, all: [...stats, ...rankings] }
}

const today = (use: Use): Use => ({ ...use, daysAgo: 0 })
const ofCrowd = someUse.map((use) => today({ ...use, model: use.model === 'acme/one' ? 'crowd/one' : 'crowd/two' }))
const ofFew = someUse.map((use) => {
  return today({ ...use, model: use.model === 'acme/one' ? 'few/one' : 'few/two', account: use.account % FEW })
})
const ofSingle = fc.array(
  ofFew.map((use) => ({ ...use, account: SINGLE })),
  { maxLength: 4 },
)
const others = fc.array(fc.oneof(ofCrowd, ofCrowd, ofFew), { minLength: 4, maxLength: 20 })

test("two books that differ only in one account's use of models with few accounts publish the same figures", async () => {
  let told = 0
  await fc.assert(
    fc.asyncProperty(fc.array(fc.tuple(others, ofSingle, ofSingle), { minLength: 1, maxLength: 4 }), async (rounds) => {
      const nowMs = Date.now()
      for (const [shared, ...single] of rounds) {
        for (const [i, { book, accountIds }] of worlds.entries()) {
          await bookBatch(book.pool, useBatch(accountIds, [...shared, ...(single[i] ?? [])]))
          while (await countReceipts(book.pool, limits, nowMs));
        }
        const [one, another] = await Promise.all(worlds.map((world) => answers(world, nowMs)))
        assert.deepEqual(one, another)
        told = one?.told ?? 0
      }
    }),
    { numRuns: 10 },
  )
  assert.ok(told > 0, 'the crowd is told')
  for (const { book } of worlds) {
    await ensureOpen(book)
    await assertCleanAudit(book)
  }
})
