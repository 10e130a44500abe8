// Goal: a book from the time when all receipts were in one log goes on with a log for each shard: what was proved before is
// proved by the same root, shares of referrals go on where they were, and the audit finds nothing. Method: a book is filled by
// control and laid out as a book of that time is after its conversion.
import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { newId } from '../../../contract/wire/ids.ts'
import { shardOf } from '../../../contract/wire/redisKeys.ts'
import { NoteKey } from '../../../control/book/checkpoint/noteKey.ts'
import { signCheckpoint } from '../../../control/book/checkpoint/signCheckpoint.ts'
import { bookEntries } from '../../../control/book/settlement/bookEntries.ts'
import { parseEntries } from '../../../control/book/settlement/openEntry.ts'
import { Frontier } from '../../../control/book/usagelog/frontier.ts'
import { FIRST_LOG, lockHeads } from '../../../control/book/usagelog/head.ts'
import { isAlwaysStored } from '../../../control/book/usagelog/tile.ts'
import { openNewAccount } from '../../../control/identity/accounts/accounts.ts'
import { referralCode } from '../../../control/products/transfers/referrals/codes.ts'
import { attachReferrer } from '../../../control/products/transfers/referrals/referrals.ts'
import { payShares } from '../../../control/products/transfers/referrals/share.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits, limitsWith } from '../../support/limits.ts'
import { TEST_LOG_KEY } from '../../support/logKey.ts'
import { batchOf, endedOf, inFirstLayout } from '../../support/parts/endings.ts'
import { assertCleanAudit, type Book, ensureOpen, scalar, startBook } from '../../support/parts/ledger.ts'
import { assertProved } from '../../support/parts/proofs.ts'
import { itemOf, present } from '../../support/present.ts'
import { referenceRoot } from '../../support/referenceTree.ts'

const RECEIPTS = 700
const COUNTED = 90
const CHARGE = 7
const KEY = NoteKey.of(TEST_LOG_KEY)

let book: Book
let accounts: string[]
let referrer: string
/** Of the one log, in its order. */
let leaves: Buffer[]

before(async () => {
  book = await startBook()
  await fill(book.pool)
  await layOutAsBefore(book.pool)
})
after(() => book.stop())

let entries = 0
async function bookFor(pool: Pool, count: number, { isOld = false } = {}): Promise<void> {
  const raws = accounts.map((accountId) => {
    const endings = Array.from({ length: count }, () => endedOf({ accountId, charge: CHARGE }))
    const fields = [Buffer.from('b'), batchOf(newId('own'), 1, endings)]
    return { shard: shardOf(accountId), id: `1-${++entries}`, fields }
  })
  await bookEntries(pool, isOld ? inFirstLayout(parseEntries(raws)) : parseEntries(raws))
}

async function fill(pool: Pool): Promise<void> {
  accounts = []
  for (let i = 0; i < 4; i++) accounts.push(await openNewAccount(pool, limits, { coinNanos: 1_000_000 }))
  referrer = await openNewAccount(pool, limits)
  const code = await referralCode(pool, referrer)
  await withTransaction(pool, (client) => attachReferrer(client, OPERATOR, itemOf(accounts, 0), code, limits))
  await bookFor(pool, RECEIPTS / accounts.length, { isOld: true })
}

/** One log, one account of revenue, and a referral that is counted up to some receipt. */
async function layOutAsBefore(pool: Pool): Promise<void> {
  await withTransaction(pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(`UPDATE receipts r SET log = ${FIRST_LOG}, position = p.place - 1
      FROM (SELECT request_id, row_number() OVER (ORDER BY request_id) AS place FROM receipts) p
      WHERE r.request_id = p.request_id`)
    await client.query(`UPDATE ledger_accounts SET balance = (SELECT sum(balance) FROM ledger_accounts WHERE id LIKE 'revenue%')
      WHERE id = 'revenue'`)
    await client.query(`UPDATE ledger_accounts SET balance = 0 WHERE id LIKE 'revenue:%'`)
    await client.query(`UPDATE transfers SET credit = 'revenue' WHERE credit LIKE 'revenue:%'`)
    await client.query('UPDATE paid_revenue SET since = clock_timestamp()')
    await client.query('DELETE FROM statistics_batches')
    await client.query('DELETE FROM usage_log_nodes')
    await client.query(`UPDATE usage_log_heads SET size = 0, peaks = ''`)
    const found = await client.query<{ leaf_hash: Buffer }>('SELECT leaf_hash FROM receipts ORDER BY position')
    leaves = found.rows.map((row) => row.leaf_hash)
    const frontier = new Frontier(0, Buffer.alloc(0))
    for (const leaf of leaves) {
      for (const { level, index, hash } of frontier.append(leaf)) {
        if (!isAlwaysStored(level)) continue
        const node = [FIRST_LOG, level, index, hash]
        await client.query('INSERT INTO usage_log_nodes (log, level, index, hash) VALUES ($1, $2, $3, $4)', node)
      }
    }
    await client.query(`UPDATE usage_log_heads SET size = $1, peaks = $2 WHERE log = ${FIRST_LOG}`, [
      frontier.size,
      frontier.peaks(),
    ])
  })
  await countAsBefore(pool)
}

async function countAsBefore(pool: Pool): Promise<void> {
  const base = await scalar<number>(
    pool,
    'SELECT coalesce(sum(charge_units), 0)::bigint FROM receipts WHERE position < $1 AND account_id = $2',
    [COUNTED, itemOf(accounts, 0)],
  )
  const due = base * limits.referralShareBps
  const units = Math.floor(due / 10_000)
  const { rows } = await pool.query<{ id: string }>(
    'UPDATE referrals SET base_units = $1, earned_units = $2, earned_nanos = $2, rest = $3 RETURNING id',
    [base, units, due % 10_000],
  )
  const { id } = itemOf(rows, 0)
  await pool.query(
    `INSERT INTO referral_shares (referral_id, log, base_units, units, from_position, to_position, share_bps)
     VALUES ($1, $2, $3, $4, 0, $5, $6)`,
    [id, FIRST_LOG, base, units, COUNTED, limits.referralShareBps],
  )
  await pool.query(
    `INSERT INTO transfers (kind, ref, debit, credit, units) VALUES ('referral', $1, 'revenue', $2, $3)`,
    [`${id}:${COUNTED}`, `coin:${referrer}`, units],
  )
  await pool.query('UPDATE referral_cursors SET position = $1 WHERE log = $2', [COUNTED, FIRST_LOG])
}

async function assertProvedBy(log: number, position: number, root?: Buffer): Promise<void> {
  const { leaf, signed } = await assertProved(book.pool, log, position)
  if (root !== undefined) assert.ok(signed.head.root.equals(root))
  if (log === FIRST_LOG) assert.ok(leaf.equals(itemOf(leaves, position)))
}

test('earlier receipts are proved by their original root, in a closed log', async () => {
  const root = referenceRoot(leaves)
  assert.equal(leaves.length, RECEIPTS)
  const { rows } = await book.pool.query<{ log: number; size: number }>(
    'SELECT log, size FROM usage_log_heads WHERE size > 0',
  )
  assert.deepEqual(rows, [{ log: FIRST_LOG, size: RECEIPTS }])
  const { size } = present(await signCheckpoint(book.pool, KEY, limitsWith({ checkpointMs: 0 })))
  assert.equal(size, 1)
  for (let position = 0; position < RECEIPTS; position += 11) await assertProvedBy(FIRST_LOG, position, root)
  await assert.rejects(
    book.pool.query('UPDATE usage_log_heads SET size = size + 1 WHERE log = 64'),
    /usage_log_heads is append only/,
  )
  await assert.rejects(
    withTransaction(book.pool, (client) => lockHeads(client, [FIRST_LOG])),
    /can be appended to/,
  )
})

test('the book is consistent, and continues in the logs of the shards', async () => {
  await ensureOpen(book)
  await assertCleanAudit(book)
  await bookFor(book.pool, 3)
  await signCheckpoint(book.pool, KEY, limitsWith({ checkpointMs: 0 }))
  for (const accountId of accounts) await assertProvedBy(shardOf(accountId), 2)
  await assertProvedBy(FIRST_LOG, RECEIPTS - 1, referenceRoot(leaves))
  await ensureOpen(book)
  await assertCleanAudit(book)
})

test('referrals continue from their position, through the closed log and the new ones', async () => {
  while (await payShares(book.pool, limits));
  const charged = CHARGE * (RECEIPTS / accounts.length + 3)
  const { rows } = await book.pool.query('SELECT base_units, earned_units, rest FROM referrals')
  const due = charged * limits.referralShareBps
  assert.deepEqual(rows, [{ base_units: charged, earned_units: Math.floor(due / 10_000), rest: due % 10_000 }])
  const places = await book.pool.query<{ log: number }>(
    'SELECT log FROM referral_shares ORDER BY log DESC, to_position',
  )
  const shard = shardOf(itemOf(accounts, 0))
  assert.deepEqual(
    places.rows.map(({ log }) => log),
    [FIRST_LOG, FIRST_LOG, shard],
  )
  await ensureOpen(book)
  await assertCleanAudit(book)
})
