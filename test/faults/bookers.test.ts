// Goal: several controls book side by side, and whichever of them is killed at whatever moment, every ending is booked
// once, in a log that only grows. Method: processes book small batches of endings that come in between, some of them again;
// they are killed at random moments, and others come. The logs are compared with a tree that is computed from RFC 6962.
import assert from 'node:assert/strict'
import { type ChildProcess, fork } from 'node:child_process'
import { once } from 'node:events'
import { after, before, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import fc from 'fast-check'
import { newId } from '../../contract/wire/ids.ts'
import { ledgerStream, SHARD_COUNT } from '../../contract/wire/redisKeys.ts'
import { Frontier } from '../../control/book/usagelog/frontier.ts'
import { compiled } from '../../control/launch/paths.ts'
import { appendEndings, endedOf } from '../support/parts/endings.ts'
import {
  assertCleanAudit,
  type Book,
  ensureOpen,
  newAccount,
  scalar,
  startBook,
  until,
} from '../support/parts/ledger.ts'
import { itemOf } from '../support/present.ts'
import { referenceRoot } from '../support/referenceTree.ts'
import { rounds } from '../support/rounds.ts'
import { freshDatabase } from '../support/services.ts'

const ACCOUNTS = 12
const COIN_UNITS = 1_000_000
const BOOKERS = 3
/** So that the sums by tag and user are booked too, which the audit compares. */
const TAGGED = { endUser: 'alice', tags: 'env=prod,team=search', tagsSalt: 'salt' }

let databaseUrl: string
let book: Book
let bookers: ChildProcess[] = []

before(async () => {
  databaseUrl = await freshDatabase()
  book = await startBook(databaseUrl)
})
after(async () => {
  await Promise.all(bookers.map(end))
  await book.stop()
})

function startBooker(): ChildProcess {
  const child = fork(compiled('test/support/booker.js'), [databaseUrl, book.redisServer.url, newId('own')], {
    execArgv: [],
  })
  bookers.push(child)
  return child
}

/** Ends a process as a crash would. */
async function end(child: ChildProcess): Promise<void> {
  bookers = bookers.filter((booker) => booker !== child)
  if (child.exitCode !== null || child.signalCode !== null) return
  const ended = once(child, 'exit')
  child.kill('SIGKILL')
  await ended
}

/** Endings of one owner and account, delivered in pieces, with some of the pieces twice. */
interface Delivery {
  readonly account: number
  readonly pieces: readonly number[]
  readonly isRepeated: boolean
}

interface Step {
  readonly deliveries: readonly Delivery[]
  /** Which process is killed when they are in the streams, after how long, if any. */
  readonly kill?: number
  readonly afterMs: number
}

const delivery = fc.record({
  account: fc.nat(ACCOUNTS - 1),
  pieces: fc.array(fc.integer({ min: 1, max: 40 }), { minLength: 1, maxLength: 6 }),
  isRepeated: fc.boolean(),
})
const step = fc.record(
  {
    deliveries: fc.array(delivery, { minLength: 3, maxLength: 12 }),
    kill: fc.nat(BOOKERS - 1),
    afterMs: fc.nat(60),
  },
  { requiredKeys: ['deliveries', 'afterMs'] },
)

/** @returns how many endings there are, each counted once */
async function deliver(accounts: readonly string[], { account, pieces, isRepeated }: Delivery): Promise<number> {
  const [accountId, owner] = [itemOf(accounts, account), newId('own')]
  let from = 1
  for (const size of pieces) {
    const endings = Array.from({ length: size }, () => endedOf({ accountId, charge: 3, settlement: TAGGED }))
    await appendEndings(book.redis, accountId, owner, from, endings)
    if (isRepeated) await appendEndings(book.redis, accountId, owner, from, endings)
    from += size
  }
  return from - 1
}

async function run(accounts: readonly string[], steps: readonly Step[]): Promise<number> {
  let endings = 0
  for (const { deliveries, kill, afterMs } of steps) {
    const counts = await Promise.all(deliveries.map((next) => deliver(accounts, next)))
    endings += counts.reduce((sum, count) => sum + count, 0)
    await sleep(afterMs)
    if (kill === undefined) continue
    await end(itemOf(bookers, kill))
    startBooker()
  }
  return endings
}

const streamsAreEmpty = async (): Promise<boolean> => {
  let left = 0
  for (let shard = 0; shard < SHARD_COUNT; shard++) left += await book.redis.xlen(ledgerStream(shard))
  return left === 0
}

/** Compares every log with the tree over its receipts; returns the sizes. */
async function assertLogs(): Promise<number[]> {
  const heads = await book.pool.query<{ log: number; size: number; peaks: Buffer }>(
    'SELECT log, size, peaks FROM usage_log_heads ORDER BY log',
  )
  const receipts = await book.pool.query<{ log: number; position: number; leaf_hash: Buffer }>(
    'SELECT log, position, leaf_hash FROM receipts ORDER BY log, position',
  )
  for (const { log, size, peaks } of heads.rows) {
    const own = receipts.rows.filter((row) => row.log === log)
    assert.deepEqual(
      own.map(({ position }) => position),
      own.map((_, place) => place),
      `positions of log ${log}`,
    )
    assert.equal(size, own.length)
    const root = referenceRoot(own.map((row) => row.leaf_hash))
    assert.ok(new Frontier(size, peaks).root().equals(root), `root of log ${log}`)
  }
  return heads.rows.map(({ size }) => size)
}

test('control instances killed at any moment book every ending once, concurrently', async () => {
  for (let i = 0; i < BOOKERS; i++) startBooker()
  const accounts = await Promise.all(Array.from({ length: ACCOUNTS }, () => newAccount(book.pool, COIN_UNITS)))
  let sizes = await assertLogs()
  let endings = 0
  await fc.assert(
    fc.asyncProperty(fc.array(step, { minLength: 2, maxLength: 5 }), async (steps) => {
      endings += await run(accounts, steps)
      await until('everything is booked', streamsAreEmpty, 120_000)
      const grown = await assertLogs()
      assert.ok(grown.every((size, log) => size >= itemOf(sizes, log)))
      sizes = grown
      assert.equal(await scalar(book.pool, 'SELECT count(*) FROM receipts'), endings)
      const revenue = `SELECT sum(balance) FROM ledger_accounts WHERE id LIKE 'revenue%'`
      assert.equal(await scalar(book.pool, revenue), endings * 3)
      assert.equal(await scalar(book.pool, 'SELECT count(*) FROM settlement_rejects'), 0)
    }),
    // What is delivered stays in the book, so that a shorter run would not begin where the failed one did.
    { numRuns: rounds({ short: 6, long: 60 }), endOnFailure: true },
  )
  // What was delivered here was never taken off in Redis, which is loaded from the book.
  await ensureOpen(book)
  await assertCleanAudit(book)
})
