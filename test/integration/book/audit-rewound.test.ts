// Goal: the audit names a log that was rewound and has grown again in another way, though everything in it fits together.
import assert from 'node:assert/strict'
import { after, before, beforeEach, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { ledgerLimits, limitsWith } from '../../support/limits.ts'
import { TEST_LOG_KEY } from '../../support/logKey.ts'
import { batchOf, endedOf } from '../../support/parts/endings.ts'
import { makeLogFit, tamperWith } from '../../support/parts/forgedLog.ts'
import { type Book, ensureOpen, newAccount, startBook } from '../../support/parts/ledger.ts'

const key = NoteKey.of(TEST_LOG_KEY)
const CONTAINED = 'usage logs contain every head that was signed'
/** What is booked at first: more than a tile, so that nodes are stored. */
const SIZE = 300
const ADDED = 250

let book: Book
let accountId: string
let entries = 0
before(async () => {
  book = await startBook()
})
after(() => book.stop())
/** Each test has a log of its own. */
beforeEach(async () => {
  const taken = await logsInUse()
  do accountId = await newAccount(book.pool, 1_000_000)
  while (taken.has(shardOf(accountId)))
  await open()
})

/** Has admission take what was booked past it from the book. */
async function open(): Promise<void> {
  await book.redis.flushall()
  await ensureOpen(book)
}

async function logsInUse(): Promise<Set<number>> {
  const found = await book.pool.query<{ log: number }>('SELECT log FROM usage_log_heads WHERE size > 0')
  return new Set(found.rows.map(({ log }) => log))
}

async function grow(count: number): Promise<void> {
  const endings = Array.from({ length: count }, () => endedOf({ accountId, charge: 1 }))
  const fields = [Buffer.from('b'), batchOf(newId('own'), 1, endings)]
  await bookEntries(book.pool, parseEntries([{ shard: shardOf(accountId), id: `1-${++entries}`, fields }]))
  await open()
}

const sign = () => signCheckpoint(book.pool, key, limitsWith({ checkpointMs: 0 }))

/** Two receipts near the end change places, and nodes and head are made to fit. */
async function rewind(signed: boolean): Promise<void> {
  const log = shardOf(accountId)
  const move = 'UPDATE receipts SET position = $3 WHERE log = $1 AND position = $2'
  const [one, other] = [SIZE - 5, SIZE - 3]
  await tamperWith(book.pool, [move, [log, one, -1]], [move, [log, other, one]], [move, [log, -1, other]])
  await makeLogFit(book.pool, log, signed)
}

async function findings(isFull: boolean): Promise<Map<string, string>> {
  const checks = await runAudit(book.pool, book.redis, ledgerLimits, { marking: { isFull, key } })
  return new Map(checks.filter(({ ok }) => !ok).map(({ name, detail }) => [name, detail]))
}

test('a log that diverged since the last clean audit is named where none of it was signed', async () => {
  assert.deepEqual([...(await findings(true)).keys()], [])
  await grow(SIZE)
  assert.deepEqual([...(await findings(false)).keys()], [])
  await rewind(false)
  await grow(ADDED)
  const found = await findings(false)
  assert.equal(found.get('usage log heads equal the logs'), `the head of log ${shardOf(accountId)} has another root`)
  await rewind(false)
})

test('checkpoints reveal a diverged log after the signed heads were rewritten', async () => {
  assert.deepEqual([...(await findings(true)).keys()], [])
  await grow(SIZE)
  await sign()
  await rewind(true)
  await grow(ADDED)
  const found = await findings(true)
  assert.ok(found.has('checkpoints sign the heads'), [...found.keys()].join())
  await rewind(true)
})

// Last, since what is signed stays signed.
test('a log that diverged from its signed head is named, also after its new state was signed', async () => {
  await grow(SIZE)
  await sign()
  assert.deepEqual([...(await findings(true)).keys()], [])
  await rewind(false)
  await grow(ADDED)
  await sign()
  const found = await findings(true)
  assert.deepEqual([...found.keys()], [CONTAINED])
  assert.equal(found.get(CONTAINED), `log ${shardOf(accountId)} was signed with another root at ${SIZE} receipts`)
})
