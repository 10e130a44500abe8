// Goal: what the usage logs are is signed, by one control at a time and for good: checkpoints only grow, and a log that
// was changed behind them is neither signed nor overlooked.
import assert from 'node:assert/strict'
import { after, afterEach, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { sampleCheckpoints } from '../../../control/book/checkpoint/checkpointGauges.ts'
import { checkpointKeeper } from '../../../control/book/checkpoint/checkpointKeeper.ts'
import { headText } from '../../../control/book/checkpoint/checkpointText.ts'
import { generateNoteKey, NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { leafHash } from '../../../control/book/usagelog/merkle.ts'
import { STORED_LEVELS } from '../../../control/book/usagelog/tile.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits, limitsWith } from '../../support/limits.ts'
import { readCheckpoint } from '../../support/noteVerifier.ts'
import { batchOf, endedOf } from '../../support/parts/endings.ts'
import {
  assertCleanAudit,
  type Book,
  ensureOpen,
  log,
  newAccount,
  scalar,
  startBook,
  until,
} from '../../support/parts/ledger.ts'
import { itemOf, present } from '../../support/present.ts'
import { referenceRoot } from '../../support/referenceTree.ts'

const ORIGIN = 'gateway.example.com/v1/log'
const KEY = NoteKey.of(generateNoteKey(ORIGIN))
const limits = limitsWith({ checkpointMs: 0 })

let book: Book
let keepers: ReturnType<typeof checkpointKeeper>[] = []
before(async () => {
  book = await startBook()
})
afterEach(async () => {
  await Promise.all(keepers.map((keeper) => keeper.stop()))
  keepers = []
})
after(() => book.stop())

let entries = 0
async function bookFor(accountId: string, count: number): Promise<void> {
  const endings = Array.from({ length: count }, () => endedOf({ accountId, charge: 2 }))
  const fields = [Buffer.from('b'), batchOf(newId('own'), 1, endings)]
  await bookEntries(book.pool, parseEntries([{ shard: shardOf(accountId), id: `1-${++entries}`, fields }]))
}

const sign = async () => present(await signCheckpoint(book.pool, KEY, limits))

interface Stored {
  readonly size: number
  readonly note: string
  readonly signed_at: Date
}
const checkpoints = async () => (await book.pool.query<Stored>('SELECT * FROM checkpoints ORDER BY size')).rows
const last = async () => present((await checkpoints()).at(-1))

/** Runs SQL with all triggers off, as someone who tampers with the files would. */
async function tamper(sql: string): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql)
  })
}

async function failedChecks(): Promise<string[]> {
  return (await runAudit(book.pool, book.redis, ledgerLimits)).filter(({ ok }) => !ok).map(({ name }) => name)
}

test('the heads of the logs are signed when one has grown, and the root covers all heads so far', async () => {
  assert.deepEqual(await sign(), { rewound: [] }, 'nothing is booked yet')
  const none = { ageSeconds: 0, heads: 0, receiptsUnsigned: 0, logsRewound: 0, cosignedAgeSeconds: 0 }
  assert.deepEqual(await sampleCheckpoints(book.pool), none)
  const [one, other] = [await newAccount(book.pool, 10_000), await newAccount(book.pool, 10_000)]
  await bookFor(one, 3)
  assert.deepEqual(await sign(), { size: 1, rewound: [] })
  assert.deepEqual(await sign(), { rewound: [] }, 'nothing is new')
  await bookFor(one, 300)
  await bookFor(other, 1)
  assert.equal((await sampleCheckpoints(book.pool)).receiptsUnsigned, 301)
  const { size } = await sign()
  const { ageSeconds, ...sampled } = await sampleCheckpoints(book.pool)
  assert.ok(ageSeconds > 0 && ageSeconds < 60, `${ageSeconds}`)
  assert.deepEqual(sampled, { heads: size, receiptsUnsigned: 0, logsRewound: 0, cosignedAgeSeconds: 0 })
  const heads = await book.pool.query<{ log: number; size: number; root: Buffer }>(
    'SELECT log, size, root FROM log_heads ORDER BY position',
  )
  assert.equal(size, heads.rows.length)
  const read = readCheckpoint((await last()).note, KEY.verifier())
  const leaves = heads.rows.map((head) => leafHash(headText(head.log, head)))
  assert.deepEqual(read, { origin: ORIGIN, size, root: referenceRoot(leaves) })
  for (const head of heads.rows) {
    const receipts = await book.pool.query<{ leaf_hash: Buffer }>(
      'SELECT leaf_hash FROM receipts WHERE log = $1 AND position < $2 ORDER BY position',
      [head.log, head.size],
    )
    assert.ok(head.root.equals(referenceRoot(receipts.rows.map((row) => row.leaf_hash))))
  }
})

test('control instances sign in turn, no sooner than the limit allows', async () => {
  const checkpointMs = 150
  const before = (await checkpoints()).length
  const accounts = await Promise.all(Array.from({ length: 6 }, () => newAccount(book.pool, 10_000)))
  for (let i = 0; i < 4; i++) {
    keepers.push(checkpointKeeper({ pool: book.pool, log, key: KEY, limits: limitsWith({ checkpointMs }) }))
  }
  await until('some are signed', async () => {
    await Promise.all(accounts.map((accountId) => bookFor(accountId, 2)))
    return (await checkpoints()).length >= before + 5
  })
  const signed = (await checkpoints()).slice(before)
  for (const [place, { signed_at, size }] of signed.entries()) {
    const next = signed[place + 1]
    if (next === undefined) continue
    assert.ok(next.signed_at.getTime() - signed_at.getTime() >= checkpointMs - 1)
    assert.ok(next.size > size)
  }
})

test('if control dies while it signs, another instance takes over', async () => {
  const accountId = await newAccount(book.pool, 10_000)
  await bookFor(accountId, 1)
  const dying = await book.pool.connect()
  dying.on('error', () => undefined)
  const { rows } = await dying.query<{ pid: number }>('SELECT pg_backend_pid() AS pid')
  await dying.query('BEGIN')
  await dying.query('SELECT FROM usage_log_heads WHERE log = 65 FOR UPDATE')
  const before = (await checkpoints()).length
  const signing = sign()
  await until('the other waits', async () => {
    const waiting = `SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'`
    return (await scalar<number>(book.pool, waiting)) === 1
  })
  await book.pool.query('SELECT pg_terminate_backend($1)', [itemOf(rows, 0).pid])
  dying.release(new Error('its control died'))
  assert.ok(present((await signing).size) > 0)
  assert.equal((await checkpoints()).length, before + 1)
})

test('a rewound log is not signed, the others are, and the audit reports it', async () => {
  const victim = await newAccount(book.pool, 10_000)
  const shard = shardOf(victim)
  let other = await newAccount(book.pool, 10_000)
  // One account of 64 is in the same shard, and has the same log.
  while (shardOf(other) === shard) other = await newAccount(book.pool, 10_000)
  await bookFor(victim, 4)
  await sign()
  const { rows } = await book.pool.query<{ size: number; peaks: Buffer }>(
    'SELECT size, peaks FROM usage_log_heads WHERE log = $1',
    [shard],
  )
  const head = itemOf(rows, 0)
  await tamper(`UPDATE usage_log_heads SET size = 1, peaks = sha256('') WHERE log = ${shard}`)
  await bookFor(other, 1)
  const { size, rewound } = await sign()
  assert.deepEqual(rewound, [{ log: shard, signedSize: head.size, size: 1 }])
  assert.equal((await sampleCheckpoints(book.pool)).logsRewound, 1)
  assert.ok(size !== undefined)
  const same = `UPDATE usage_log_heads SET size = ${head.size}, peaks = sha256('') WHERE log = ${shard}`
  if (head.size === 4) {
    await tamper(same)
    assert.deepEqual((await sign()).rewound, [{ log: shard, signedSize: head.size, size: head.size }])
  }
  await tamper(
    `UPDATE usage_log_heads SET size = ${head.size}, peaks = '\\x${head.peaks.toString('hex')}' WHERE log = ${shard}`,
  )
  assert.deepEqual((await sign()).rewound, [])
  assert.equal((await sampleCheckpoints(book.pool)).logsRewound, 0)
})

test('the audit verifies every checkpoint', async () => {
  await ensureOpen(book)
  await assertCleanAudit(book)
  const { note, size } = await last()
  const forged = NoteKey.of(generateNoteKey(ORIGIN)).sign(note.slice(0, note.indexOf('\n\n') + 1))
  const SIGNED = 'checkpoints sign the heads'
  const CONTAINED = 'usage logs contain every head that was signed'
  const GROW = 'heads of the usage logs only grow'
  const of = `(SELECT max(position) FROM log_heads)`
  const kept = await book.pool.query<{ log: number; size: number; position: number }>(
    `SELECT log, size, position FROM log_heads WHERE position = ${of}`,
  )
  const head = itemOf(kept.rows, 0)
  // A node is stored over every so many heads.
  const isInNode = (head.position + 1) % 2 ** itemOf(STORED_LEVELS, 0) === 0
  const NODES = isInNode ? ['nodes of the log of heads equal its entries'] : []
  for (const [change, undo, found] of [
    [
      `UPDATE checkpoints SET note = '${forged}' WHERE size = ${size}`,
      `UPDATE checkpoints SET note = '${note}' WHERE size = ${size}`,
      [SIGNED],
    ],
    [
      `UPDATE checkpoints SET size = size + 1 WHERE size = ${size}`,
      `UPDATE checkpoints SET size = size - 1 WHERE size = ${size + 1}`,
      [SIGNED],
    ],
    [
      `UPDATE log_heads SET size = ${head.size + 1} WHERE position = ${of}`,
      `UPDATE log_heads SET size = ${head.size} WHERE position = ${of}`,
      [CONTAINED, GROW, ...NODES, SIGNED],
    ],
  ] as const) {
    await tamper(change)
    const failed = await failedChecks()
    await tamper(undo)
    assert.deepEqual(failed, found, change)
  }
  await assertCleanAudit(book)
})
