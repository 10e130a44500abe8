// Goal: the audit names every corruption of a book, by the check that is about it, and says nothing of a clean one. Method: a
// book in which everything has happened once; each corruption is made with all triggers off, as by someone who has the files, or in
// Redis, and undone.
import assert from 'node:assert/strict'
import { readdir, readFile, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { defineScript } from '../../../contract/wire/scripts.ts'
import { type AuditOptions, runAudit } from '../../../control/audit/runAudit.ts'
import { withTransaction } from '../../../control/runtime/db/pool.ts'
import { ARCHIVE_CORRUPTIONS } from '../../support/corruptions/archiveCorruptions.ts'
import { BOOK_CORRUPTIONS, POSITION_CORRUPTIONS } from '../../support/corruptions/bookCorruptions.ts'
import { CHAIN_CORRUPTIONS } from '../../support/corruptions/chainCorruptions.ts'
import { KEY, limits, makeBook } from '../../support/corruptions/corruptedBook.ts'
import type { Corrupted } from '../../support/corruptions/corruption.ts'
import { LOCK_CORRUPTIONS } from '../../support/corruptions/lockCorruptions.ts'
import { LOG_CORRUPTIONS } from '../../support/corruptions/logCorruptions.ts'
import { RECEIPT_CORRUPTIONS } from '../../support/corruptions/receiptCorruptions.ts'
import { REDIS_CORRUPTIONS } from '../../support/corruptions/redisCorruptions.ts'
import { sampled } from '../../support/rounds.ts'

/** Tables, and what they have besides columns that are computed; no partitions. */
const TABLES = `
  SELECT c.relname AS name, string_agg(quote_ident(a.attname), ', ' ORDER BY a.attnum) AS columns
  FROM pg_class c JOIN pg_attribute a ON a.attrelid = c.oid AND a.attnum > 0 AND NOT a.attisdropped AND a.attgenerated = ''
  WHERE c.relnamespace = 'public'::regnamespace AND c.relkind IN ('r', 'p') AND NOT c.relispartition GROUP BY c.relname`

let book: Corrupted
let tables: readonly { readonly name: string; readonly columns: string }[]
let beats: NodeJS.Timeout

before(async () => {
  book = await makeBook()
  const beat = defineScript(book.redis, 'heartbeat')
  beats = setInterval(() => void beat(['owners'], [book.proxyOwner]).catch(() => undefined), 100)
  tables = (await book.pool.query<{ name: string; columns: string }>(TABLES)).rows
  await tamper(
    `CREATE SCHEMA kept; ${tables.map(({ name }) => `CREATE TABLE kept.${name} AS TABLE ${name}`).join('; ')}`,
  )
})
after(async () => {
  clearInterval(beats)
  await book?.stop()
})

/** Runs SQL with all triggers off, as someone who restores files or has them would. */
/** @returns how many rows it changed */
async function tamper(sql: string): Promise<number> {
  return withTransaction(book.pool, async (client) => {
    await client.query('SET LOCAL session_replication_role = replica')
    const results = [await client.query(sql)].flat()
    return results.reduce((sum, { rowCount }) => sum + (rowCount ?? 0), 0)
  })
}

/** Puts back the tables that `sql` names; no others change, as triggers are off. */
async function putBack(sql: string): Promise<void> {
  const named = tables.filter(({ name }) => new RegExp(`\\b${name}(_\\w+)?\\b`).test(sql))
  assert.ok(named.length > 0, `no table is named by ${sql}`)
  await tamper(
    named
      .map(
        ({ name, columns }) => `DELETE FROM ${name};
        INSERT INTO ${name} (${columns}) OVERRIDING SYSTEM VALUE SELECT ${columns} FROM kept.${name}`,
      )
      .join('; '),
  )
}

/** Keeps Redis and the files of archives. @returns what puts them back */
async function keepOutside({ redis, archiveDir }: Corrupted): Promise<() => Promise<void>> {
  const files = await Promise.all(
    (await readdir(archiveDir)).map(
      async (name) => [join(archiveDir, name), await readFile(join(archiveDir, name))] as const,
    ),
  )
  const keys = await Promise.all(
    (await redis.keys('*')).map(async (key) => [key, await redis.dumpBuffer(key)] as const),
  )
  return async () => {
    for (const [path, content] of files) await writeFile(path, content)
    await redis.flushall()
    for (const [key, value] of keys) if (value !== null) await redis.restore(key, 0, value, 'REPLACE')
  }
}

async function failed(options: AuditOptions = {}): Promise<Map<string, string>> {
  const { pool, redis, rpcUrl, archiveDir } = book
  const checks = await runAudit(pool, redis, limits, { rpcUrl, archiveDir, ...options })
  return new Map(checks.filter(({ ok }) => !ok).map(({ name, detail }) => [name, detail]))
}

test('the audit says nothing of a clean book', async () => assert.deepEqual([...(await failed())], []))

const CORRUPTIONS = [
  ...RECEIPT_CORRUPTIONS,
  ...BOOK_CORRUPTIONS,
  ...POSITION_CORRUPTIONS,
  ...REDIS_CORRUPTIONS,
  ...LOG_CORRUPTIONS,
  ...CHAIN_CORRUPTIONS,
  ...LOCK_CORRUPTIONS,
  ...ARCHIVE_CORRUPTIONS,
]

for (const { name, sql, outside, found } of sampled(CORRUPTIONS, 8)) {
  test(`the audit names ${name}`, async () => {
    const undo = outside === undefined ? undefined : await keepOutside(book)
    const tampering = sql?.(book)
    try {
      if (tampering !== undefined) assert.ok((await tamper(tampering)) > 0, 'it changes nothing')
      await outside?.(book)
      const faults = await failed()
      assert.ok(faults.has(found), `${found} is not among ${JSON.stringify([...faults], undefined, 1)}`)
      assert.doesNotMatch(String(faults.get(found)), /could not be checked/)
    } finally {
      await undo?.()
      if (tampering !== undefined) await putBack(tampering)
    }
  })
}

test('a mark that was altered does not count: the next audit checks everything', async () => {
  const marking = { isFull: false, key: KEY }
  await failed({ marking })
  await tamper(`UPDATE audit_mark SET note = replace(note, '"size":0', '"size":1')`)
  const { pool, redis, archiveDir } = book
  const checks = await runAudit(pool, redis, limits, { archiveDir, marking })
  await putBack('audit_mark')
  assert.match(
    String(checks.at(-1)?.detail),
    /^everything was checked, as the mark of another does not count: it is not signed/,
  )
})

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

test('everything that was put back is as it was', async () => assert.deepEqual([...(await failed())], []))
