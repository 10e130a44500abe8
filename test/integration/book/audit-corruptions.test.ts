import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { leasesKey, shardOf } from '../../../contract/wire/redisKeys.ts'
import { runAudit } from '../../../control/audit/runAudit.ts'
import { noteOwner } from '../../../control/book/settlement/proxyOwners.ts'
import { openNewAccount } from '../../../control/customers/accounts/accounts.ts'
import { endKey, makeKey } from '../../../control/customers/keys/keyChanges.ts'
import { OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { BOOK_CORRUPTIONS, POSITION_CORRUPTIONS } from '../../support/corruptions/bookCorruptions.ts'
import type { Corrupted } from '../../support/corruptions/corruption.ts'
import { RECEIPT_CORRUPTIONS } from '../../support/corruptions/receiptCorruptions.ts'
import { REDIS_CORRUPTIONS } from '../../support/corruptions/redisCorruptions.ts'
import { ledgerLimits as limits } from '../../support/limits.ts'
import { appendEndings, endedOf } from '../../support/parts/endings.ts'
import {
  assertCleanAudit,
  dispatchEvents,
  drainAll,
  ensureOpen,
  startBook,
  TestProxy,
} from '../../support/parts/ledger.ts'

/** All tables that corruptions change; their content is put back after each. */
const TABLES = [
  'receipts',
  'transfers',
  'ledger_accounts',
  'usage_days',
  'key_usage',
  'grants',
  'open_grants',
  'api_keys',
  'price_sheets',
  'debits',
  'admission_accounts',
  'owner_positions',
  'proxy_owners',
]
const COIN_NANOS = 1_000_000_000
const SHEET = {
  version: '0',
  rate_lock: { days: 30, valid_until: new Date(0).toISOString() },
  coin: { usd: '1' },
  models: [
    {
      id: 'acme/chat-small',
      price: { input: '9', output: '9' },
      rate_locked_until: new Date(0).toISOString(),
      routes: [{ provider: 'acme' }],
    },
  ],
}

let book: Corrupted
let beats: NodeJS.Timeout

before(async () => {
  const started = await startBook()
  const { pool, redis } = started
  const text = JSON.stringify(SHEET)
  await pool.query(
    `INSERT INTO price_sheets (version, published_at, valid_until, content_hash, sheet) VALUES (1, now(), now() + interval '1 day', $1, $2)`,
    [createHash('sha256').update(text).digest('hex'), text],
  )
  await pool.query(`INSERT INTO catalog_records (sheet_version, published_at, record) VALUES (1, now(), '')`)
  const open = async (creditUnits: number) => {
    const id = await openNewAccount(pool, limits, { coinNanos: COIN_NANOS, creditUnits })
    const budgetUnits = 1_000_000_000
    const made = await withTransaction(pool, (client) =>
      makeKey(client, OPERATOR, id, { budgetUnits, capDayUnits: 500_000_000 }),
    )
    return { id, keyId: made.key.id }
  }
  const [own, other] = [await open(500), await open(700)]
  await withTransaction(pool, (client) => endKey(client, OPERATOR, other.keyId))
  await ensureOpen(started)
  await dispatchEvents(started)
  const proxy = new TestProxy(redis)
  beats = setInterval(() => void proxy.beat(), 100)
  for (let i = 0; i < 30; i++) {
    const requestId = `req_${String(i).padStart(26, '0')}`
    await proxy.hold(own.id, requestId, 100, 100, { keyId: own.keyId })
    await proxy.settle(own.id, requestId, i % 10 === 0 ? -1 : 60, 100, { keyId: own.keyId })
  }
  const ending = endedOf({ accountId: own.id, charge: -1, settlement: { keyId: own.keyId } })
  await appendEndings(redis, own.id, proxy.owner, 1, [ending])
  await redis.hset(leasesKey(shardOf(own.id), proxy.owner), 'seq', 1)
  await noteOwner(pool, proxy.owner)
  await drainAll(started)
  const grants = await pool.query<{ id: string }>('SELECT id FROM grants WHERE account_id = $1', [own.id])
  const ids = { accountId: own.id, keyId: own.keyId, otherId: other.id, otherKeyId: other.keyId }
  book = { ...started, ...ids, grantId: grants.rows[0]?.id ?? '', proxyOwner: proxy.owner }
  await tamper('CREATE SCHEMA kept')
  for (const table of TABLES) await tamper(`CREATE TABLE kept.${table} AS SELECT * FROM ${table}`)
})
after(async () => {
  clearInterval(beats)
  await book.stop()
})

/** Runs SQL with all triggers off, as someone who restores files or has them would. */
async function tamper(sql: string): Promise<void> {
  await withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    await client.query(sql)
  })
}

async function failed(options = {}): Promise<Map<string, string>> {
  const checks = await runAudit(book.pool, book.redis, { ...limits, auditRechecksMax: 1 }, options)
  return new Map(checks.filter(({ ok }) => !ok).map(({ name, detail }) => [name, detail]))
}

async function putBack(): Promise<void> {
  const generated = `SELECT string_agg(quote_ident(column_name), ', ' ORDER BY ordinal_position) AS columns FROM information_schema.columns
    WHERE table_schema = 'public' AND table_name = $1 AND is_generated = 'NEVER'`
  for (const table of TABLES) {
    const { rows } = await book.pool.query<{ columns: string }>(generated, [table])
    const columns = rows[0]?.columns ?? ''
    await tamper(
      `DELETE FROM ${table}; INSERT INTO ${table} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM kept.${table}`,
    )
  }
}

test('the audit says nothing of a clean book', () => assertCleanAudit(book))

for (const { name, sql, redis, found } of [
  ...RECEIPT_CORRUPTIONS,
  ...BOOK_CORRUPTIONS,
  ...POSITION_CORRUPTIONS,
  ...REDIS_CORRUPTIONS,
]) {
  test(`the audit names ${name}`, async () => {
    const undo = await redis?.(book)
    try {
      if (sql !== undefined) await tamper(sql(book))
      const faults = await failed()
      assert.ok(faults.has(found), `${found} is not among ${JSON.stringify([...faults], undefined, 1)}`)
      assert.doesNotMatch(String(faults.get(found)), /could not be checked/)
    } finally {
      await undo?.()
      if (sql !== undefined) await putBack()
    }
  })
}

test('a check that ends with an error is reported as broken, and the others go on', async () => {
  await tamper('ALTER TABLE lock_series RENAME TO lock_series_gone')
  const faults = await failed()
  await tamper('ALTER TABLE lock_series_gone RENAME TO lock_series')
  assert.match(
    String(faults.get('no book of locks is crossed') ?? faults.get('escrow of locks equals their open orders')),
    /could not be checked: /,
  )
  assert.ok(!faults.has('every charge is booked in full'), 'the charges were checked')
})

test('the files of archived months are compared with their digests', async () => {
  const archiveDir = await mkdtemp(join(tmpdir(), 'sluice-archive-'))
  await writeFile(join(archiveDir, 'receipts-2020-01.ndjson.gz'), 'damaged')
  await tamper(`INSERT INTO receipt_archives (month, from_id, until_id, file, sha256, receipts, charge_units)
    VALUES ('2020-01', 'a', 'b', 'receipts-2020-01.ndjson.gz', '${'0'.repeat(64)}', 0, 0)`)
  const faults = await failed({ archiveDir })
  await tamper('DELETE FROM receipt_archives')
  await rm(archiveDir, { recursive: true })
  assert.match(String(faults.get('archives of receipts have their digests')), /has the SHA-256/)
})

test('everything that was put back is as it was', () => assertCleanAudit(book))
