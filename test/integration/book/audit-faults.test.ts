import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import {
  accountKey,
  epochKey,
  keyCountersKey,
  leasesKey,
  ledgerStream,
  shardOf,
} from '../../../contract/wire/redisKeys.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { noteOwner } from '../../../control/book/settlement/proxyOwners.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { appendEndings, endedOf } from '../../support/parts/endings.ts'
import {
  assertCleanAudit,
  type Book,
  drainAll,
  fundedAccount,
  startBook,
  TestProxy,
} from '../../support/parts/ledger.ts'

let book: Book
let accountId: string
let keyId: string
let proxy: TestProxy
let beats: NodeJS.Timeout

before(async () => {
  book = await startBook()
  accountId = await fundedAccount(book, 1_000_000)
  keyId = accountId.replace('acct', 'key')
  proxy = new TestProxy(book.redis)
  beats = setInterval(() => void proxy.beat(), 100)
  for (let i = 0; i < 300; i++) await proxy.serve(accountId, i % 10 === 0 ? -1 : 60, 100)
  await drainAll(book)
  await proxy.newHold(accountId, 100)
})
after(async () => {
  clearInterval(beats)
  await book.stop()
})

/** Runs SQL with all triggers off, as someone who tampers with the files would. */
async function tamper(sql: string): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql)
  })
}

async function failedChecks(): Promise<string[]> {
  const checks = await runAudit(book.pool, book.redis, limits)
  return checks.filter((check) => !check.ok).map((check) => check.name)
}

test('an untouched book passes every check', () => assertCleanAudit(book))

const SOME_CHARGE = `(SELECT ref FROM transfers WHERE kind = 'charge' ORDER BY ref LIMIT 1)`
const POSITION_7 = '(SELECT request_id FROM receipts WHERE position = 7)'

/** A receipt at a place of the log which says something else than the log has of it. */
const OTHER_LEAF = [
  'usage log leaves equal their receipts',
  'usage log nodes equal their leaves',
  'usage log heads equal the logs',
]

/** What is done to the database, how it is undone, and the checks that have to find it. */
const TAMPERINGS: { name: string; change: string; undo: string; found: string[] }[] = [
  {
    name: 'a balance changed by hand',
    change: `UPDATE ledger_accounts SET balance = balance + 5 WHERE kind = 'coin'`,
    undo: `UPDATE ledger_accounts SET balance = balance - 5 WHERE kind = 'coin'`,
    found: ['balances equal their postings', 'admission balances equal the book'],
  },
  {
    name: 'a charge made smaller',
    change: `UPDATE transfers SET units = units - 1 WHERE ref = ${SOME_CHARGE}`,
    undo: `UPDATE transfers SET units = units + 1 WHERE ref = ${SOME_CHARGE}`,
    found: ['balances equal their postings', 'every charge is booked in full'],
  },
  {
    name: 'a receipt that shows another charge',
    change: `UPDATE receipts SET charge_units = charge_units - 1 WHERE request_id = ${POSITION_7}`,
    undo: `UPDATE receipts SET charge_units = charge_units + 1 WHERE request_id = ${POSITION_7}`,
    found: [
      'every charge is booked in full',
      'key usage equals the receipts and debits',
      'usage by day equals the receipts',
      ...OTHER_LEAF,
    ],
  },
  {
    name: 'a receipt that names rates which are not sold',
    change: `UPDATE receipts SET rate = 'batch' WHERE position = 7`,
    undo: `UPDATE receipts SET rate = 'standard' WHERE position = 7`,
    found: ['every receipt names rates of its price sheet', ...OTHER_LEAF],
  },
  {
    name: 'a receipt that names a size which is not sold',
    change: `UPDATE receipts SET size = '512x512' WHERE position = 7`,
    undo: `UPDATE receipts SET size = '' WHERE position = 7`,
    found: ['every receipt names rates of its price sheet', ...OTHER_LEAF],
  },
  {
    // 15 tokens at 0.001 USD per million are 15 units; a batch rate above that changes nothing of it.
    name: 'a batch that was charged more than its standard rates',
    change: `
      INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet) VALUES
        (1, now(), now() + interval '1 day', '', '{"models":[{"id":"acme/chat-small","price":
          {"input":"0.001","output":"0.001","batch_input":"1","batch_output":"1"}}]}');
      UPDATE receipts SET rate = 'batch' WHERE position = 7`,
    undo: `DELETE FROM price_sheets WHERE version = 1; UPDATE receipts SET rate = 'standard' WHERE position = 7`,
    found: ['no batch or private request exceeds its rates, and no batch the standard ones', ...OTHER_LEAF],
  },
  {
    name: 'a receipt that is both voided and ok',
    change: `UPDATE receipts SET status = 'ok' WHERE position = 0`,
    undo: `UPDATE receipts SET status = 'failed' WHERE position = 0`,
    found: ['every request ended once', ...OTHER_LEAF],
  },
  {
    name: 'a gap in the usage log',
    change: 'UPDATE receipts SET position = 1000 WHERE position = 299',
    undo: 'UPDATE receipts SET position = 299 WHERE position = 1000',
    found: ['usage log positions have no gap'],
  },
  {
    name: 'a stored node changed',
    change: `UPDATE usage_log_nodes SET hash = sha256(hash)`,
    undo: '',
    found: ['usage log nodes equal their leaves'],
  },
  {
    name: 'a head that counts one more',
    change: 'UPDATE usage_log_heads SET size = size + 1 WHERE size > 0',
    undo: 'UPDATE usage_log_heads SET size = size - 1 WHERE size > 0',
    found: ['usage log heads equal the logs'],
  },
  {
    name: 'key usage changed',
    change: 'UPDATE key_usage SET units = units + 1',
    undo: 'UPDATE key_usage SET units = units - 1',
    found: ['key usage equals the receipts and debits', 'admission key counters equal the book'],
  },
  {
    name: 'usage by day changed',
    change: 'UPDATE usage_days SET output_tokens = output_tokens + 1',
    undo: 'UPDATE usage_days SET output_tokens = output_tokens - 1',
    found: ['usage by day equals the receipts'],
  },
  {
    name: 'a reject',
    change: `INSERT INTO settlement_rejects (shard, entry_id, reason, fields) VALUES (0, '1-1', 'test', '[]')`,
    undo: 'DELETE FROM settlement_rejects',
    found: ['no settlement was rejected'],
  },
]

for (const { name, change, undo, found } of TAMPERINGS) {
  test(`the audit finds ${name}`, async () => {
    const kept = await book.pool.query('SELECT hash FROM usage_log_nodes')
    await tamper(change)
    const failed = await failedChecks()
    await tamper(undo === '' ? `UPDATE usage_log_nodes SET hash = '\\x${kept.rows[0].hash.toString('hex')}'` : undo)
    assert.deepEqual(failed, found)
    await assertCleanAudit(book)
  })
}

test('the audit finds what is wrong in Redis', async () => {
  const account = accountKey(shardOf(accountId), accountId)
  const counters = keyCountersKey(shardOf(accountId), keyId)
  await book.redis.hincrby(account, 'coin', 1)
  assert.deepEqual(await failedChecks(), ['admission balances equal the book'])
  await book.redis.hincrby(account, 'coin', -1)
  await book.redis.hset(account, 'g', 'grt_never,1,5')
  assert.deepEqual(await failedChecks(), ['admission balances equal the book'])
  await book.redis.hset(account, 'g', '')
  for (const counter of ['hs', 'ds', 'ms', 'bs']) {
    await book.redis.hincrby(counters, counter, 1)
    assert.deepEqual(await failedChecks(), ['admission key counters equal the book'], counter)
    await book.redis.hincrby(counters, counter, -1)
  }
  const epoch = String(await book.redis.getset(epochKey(3), 'another'))
  assert.deepEqual(await failedChecks(), ['admission is open with one epoch'])
  await book.redis.set(epochKey(3), epoch)
  clearInterval(beats)
  await book.redis.zadd('owners', 1, proxy.owner)
  assert.deepEqual(await failedChecks(), ['every hold has a living owner'])
  beats = setInterval(() => void proxy.beat(), 100)
  await proxy.beat()
  await assertCleanAudit(book)
})

test('the audit finds a request that is held and has a receipt', async () => {
  const requestId = await proxy.newHold(accountId, 100)
  const holds = `holds:{s${shardOf(accountId).toString().padStart(2, '0')}}:${proxy.owner}`
  const record = String(await book.redis.hget(holds, requestId))
  await proxy.settle(accountId, requestId, 50, 100)
  await drainAll(book)
  await book.redis.hset(holds, requestId, record)
  const failed = await failedChecks()
  assert.ok(failed.includes('no ended request is held'), String(failed))
  await book.redis.hdel(holds, requestId)
  await assertCleanAudit(book)
})

test('charges that wait in a stream are part of what the audit expects', async () => {
  await proxy.serve(accountId, 50, 100)
  const checks = await runAudit(book.pool, book.redis, limits)
  assert.deepEqual(
    checks.filter((check) => !check.ok),
    [],
  )
  assert.match(checks.find((check) => check.name === 'streams are read')?.detail ?? '', /^1 entries not booked yet/)
})

test('the audit finds endings that are missing between delivery and book', async () => {
  const missing = ['every ending that was delivered is booked or waits']
  const shard = shardOf(accountId)
  const charged = () => endedOf({ accountId, charge: -1 })
  await appendEndings(book.redis, accountId, proxy.owner, 1, [charged(), charged()])
  await noteOwner(book.pool, proxy.owner)
  await drainAll(book)
  await book.redis.hset(leasesKey(shard, proxy.owner), 'seq', 3)
  assert.deepEqual(await failedChecks(), missing)
  const id = await appendEndings(book.redis, accountId, proxy.owner, 3, [charged()])
  await assertCleanAudit(book)
  await appendEndings(book.redis, accountId, proxy.owner, 4, [charged()])
  await book.redis.xdel(ledgerStream(shard), id)
  assert.deepEqual(await failedChecks(), missing)
  await drainAll(book)
  assert.deepEqual(await failedChecks(), missing)
  await appendEndings(book.redis, accountId, proxy.owner, 3, [charged()])
  await assertCleanAudit(book)
  await drainAll(book)
  await book.redis.del(leasesKey(shard, proxy.owner))
  await assertCleanAudit(book)
})
