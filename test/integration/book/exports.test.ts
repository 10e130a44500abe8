// Goal: every receipt is in exactly one exported file, whatever fails between, and the exported sums are those of the book. Method: receipts
// are booked, hours pass by an injected clock, and the files in a folder and on an S3 server, which checks signatures, are read back.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { gunzipSync } from 'node:zlib'
import S3rver from '@20minutes/s3rver'
import pino from 'pino'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { sampleExport } from '../../../control/records/export/exportGauges.ts'
import { exportHours } from '../../../control/records/export/exportKeeper.ts'
import { exportSettings } from '../../../control/records/export/exportSettings.ts'
import { type ExportStore, FolderStore } from '../../../control/records/export/exportStore.ts'
import { gaugesOf } from '../../../control/service/gauges.ts'
import { readCsv } from '../../support/csv.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { endedOf } from '../../support/parts/endings.ts'
import { type Book, fundedAccount, scalar, startBook } from '../../support/parts/ledger.ts'
import { bookEndings } from '../../support/parts/usage.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'

const HOUR_MS = 3_600_000
const BUCKET = 'receipts'
const NOON = Date.parse('2027-01-31T12:00:05Z')

let book: Book
let accountId: string
let s3: InstanceType<typeof S3rver>
let endpoint: string
const dir = makeTempDir('exports')

before(async () => {
  book = await startBook()
  accountId = await fundedAccount(book, 1_000_000_000)
  s3 = new S3rver({
    address: '127.0.0.1',
    port: 0,
    silent: true,
    directory: join(dir, 's3'),
    configureBuckets: [{ name: BUCKET, configs: [] }],
  })
  const { port } = await s3.run()
  endpoint = `http://127.0.0.1:${port}`
})
after(async () => {
  await s3.close()
  await book.stop()
  removeTempDir(dir)
})

let booked = 0

/** Books receipts of different models, users and endings. */
async function bookSome(count: number): Promise<void> {
  const endings = Array.from({ length: count }, () => {
    const units = ++booked
    const isFailed = units % 5 === 0
    return endedOf({
      accountId,
      charge: isFailed ? -1 : units,
      heldAtMs: NOON - (units % 3) * HOUR_MS,
      settlement: {
        model: units % 2 === 0 ? 'even, "quoted"' : 'odd',
        provider: 'first',
        endUser: units % 4 === 0 ? 'alice' : '',
        tags: units % 4 === 1 ? 'env=prod,team=search' : '',
        tagsSalt: 'a secret',
        holdUnits: units,
        usage: { input: units, output: 1 },
        ...(isFailed && { status: sluice.Status.FAILED, errorCode: 'upstream_error' }),
      },
    })
  })
  await bookEndings(book.pool, accountId, endings)
}

const options = (store: ExportStore, form: 'csv' | 'jsonl' = 'csv', exportReceiptsMax = 7) => ({
  pool: book.pool,
  log: pino({ level: 'silent' }),
  store,
  form,
  limits: limitsWith({ exportReceiptsMax }),
})

async function exported(store: ExportStore, nowMs: number, form?: 'csv' | 'jsonl'): Promise<void> {
  while (await exportHours(options(store, form), nowMs));
}

const textOf = (path: string): string => gunzipSync(readFileSync(path)).toString()

/** The files of a kind in a folder, by their names. */
function filesIn(folder: string, kind: string): Map<string, string> {
  const names = readdirSync(join(folder, kind), { recursive: true }).map(String)
  return new Map(
    names
      .filter((name) => name.endsWith('.gz'))
      .sort()
      .map((name) => [name, textOf(join(folder, kind, name))]),
  )
}

test('every receipt is in one file, whose names and contents are the same however often it is written', async () => {
  const folder = join(dir, 'folder')
  const store = new FolderStore(folder)
  await bookSome(20)
  await exported(store, NOON)
  const first = filesIn(folder, 'receipts')
  assert.deepEqual(
    [...first.keys()],
    [1, 2, 3].map((part) => `2027-01-31/receipts-2027-01-31T11-${part}.csv.gz`),
  )
  // Receipts of the hour wait for its end.
  await bookSome(5)
  await exported(store, NOON + HOUR_MS - 10_000)
  assert.equal(filesIn(folder, 'receipts').size, 3)

  // The destination fails after one of two files, and the process dies before it notes that both are written.
  let puts = 0
  const failing: ExportStore = {
    put: async (name, contents) => {
      await store.put(name, contents)
      if (++puts === 2) throw new Error('the connection ended')
    },
  }
  await assert.rejects(exportHours(options(failing), NOON + HOUR_MS), /connection ended/)
  const left = filesIn(folder, 'receipts')
  const usage = filesIn(folder, 'usage')
  assert.equal(left.size, 4)
  // What is booked meanwhile is of the next hour.
  await bookSome(3)
  await exported(store, NOON + HOUR_MS)
  assert.deepEqual(filesIn(folder, 'receipts'), left)
  assert.deepEqual(filesIn(folder, 'usage'), usage)

  // Several processes, after hours in which none ran.
  await Promise.all([1, 2, 3].map(() => exported(store, NOON + 7 * HOUR_MS)))
  await exported(store, NOON + 7 * HOUR_MS)
  const receipts = [...filesIn(folder, 'receipts').values()].flatMap(readCsv)
  const ids = receipts.map((row) => String(row['request_id'])).sort()
  const inBook = await book.pool.query<{ id: string }>('SELECT request_id AS id FROM receipts ORDER BY request_id')
  assert.deepEqual(
    ids,
    inBook.rows.map(({ id }) => id),
  )
  assert.equal(
    receipts.reduce((sum, row) => sum + Number(row['charge_units']), 0),
    await scalar(book.pool, 'SELECT sum(charge_units)::integer FROM receipts'),
  )
  assert.ok(receipts.some((row) => row['model'] === 'even, "quoted"' && row['end_user'] === 'alice'))
  assert.ok(receipts.every((row) => /^[0-9a-f]{64}$/.test(String(row['leaf_hash'])) && !('tags_salt' in row)))

  const sums = [...filesIn(folder, 'usage').values()].flatMap(readCsv)
  const added = new Map<string, number>()
  for (const row of sums) {
    const name = [row['hour'], row['model'], row['end_user'], row['tags'], row['outcome']].join(' ')
    added.set(name, (added.get(name) ?? 0) + Number(row['charge_units']) + 1_000_000 * Number(row['requests']))
  }
  const expected = await book.pool.query<{ name: string; sum: number }>(
    `SELECT concat_ws(' ', to_char(to_timestamp(held_at_ms / 1000) AT TIME ZONE 'UTC', 'YYYY-MM-DD"T"HH24":00:00Z"'), model, end_user, tags,
       CASE WHEN error_code = '' THEN status ELSE error_code END) AS name, (sum(charge_units) + 1000000 * count(*))::integer AS sum
     FROM receipts GROUP BY 1`,
  )
  assert.deepEqual(added, new Map(expected.rows.map(({ name, sum }) => [name, sum])))
  const noted = await scalar(book.pool, 'SELECT sum(receipts)::integer FROM export_files WHERE written_at IS NOT NULL')
  assert.equal(noted, booked)
})

const s3Store = (secret: string, place = `s3://${BUCKET}/a folder/books`) => {
  const settings = exportSettings({
    SLUICE_EXPORT: place,
    SLUICE_EXPORT_FORM: 'jsonl',
    SLUICE_EXPORT_S3_ENDPOINT: endpoint,
    AWS_REGION: 'eu-central-1',
    AWS_ACCESS_KEY_ID: 'S3RVER',
    AWS_SECRET_ACCESS_KEY: secret,
  })
  return settings?.store(limits) ?? assert.fail()
}

test('files go to a bucket with signed requests; one that refuses them gets them later', async () => {
  await bookSome(9)
  const later = NOON + 8 * HOUR_MS
  await assert.rejects(
    exportHours(options(s3Store('wrong'), 'jsonl'), later),
    /answered 403: [\s\S]*SignatureDoesNotMatch/,
  )
  await assert.rejects(
    exportHours(options(s3Store('S3RVER', 's3://none/'), 'jsonl'), later),
    /answered 404: [\s\S]*NoSuchBucket/,
  )
  await exported(s3Store('S3RVER'), later, 'jsonl')
  const found: Record<string, unknown>[] = []
  for (const part of [1, 2]) {
    const name = `receipts/2027-01-31/receipts-2027-01-31T19-${part}.jsonl.gz`
    const answer = await fetch(`${endpoint}/${BUCKET}/a%20folder/books/${name}`)
    assert.equal(answer.status, 200, name)
    const lines = gunzipSync(Buffer.from(await answer.arrayBuffer()))
      .toString()
      .trimEnd()
      .split('\n')
    found.push(...lines.map((line) => JSON.parse(line) as Record<string, unknown>))
  }
  const latest = await book.pool.query(
    'SELECT request_id, charge_units, streamed FROM receipts ORDER BY log, position DESC LIMIT 9',
  )
  const picked = found.map(({ request_id, charge_units, streamed }) => ({ request_id, charge_units, streamed }))
  const byId = (a: { request_id?: unknown }, b: { request_id?: unknown }) =>
    String(a.request_id) < String(b.request_id) ? -1 : 1
  assert.deepEqual(picked.sort(byId), latest.rows.sort(byId))
})

test('the lag grows while the destination takes no files, and is gone once it has all', async () => {
  const start = NOON + 20 * HOUR_MS
  const store = new FolderStore(join(dir, 'lagging'))
  const down: ExportStore = { put: () => Promise.reject(new Error('the destination is away')) }
  await exported(store, start)
  const [end, next] = [start - 5_000 + HOUR_MS, start - 5_000 + 2 * HOUR_MS]
  assert.deepEqual(await sampleExport(book.pool, end - 1), { lagMs: 0, failures: 0 })
  // Before its files are planned, an hour that has ended counts as well.
  assert.deepEqual(await sampleExport(book.pool, end + 7_000), { lagMs: 7_000, failures: 0 })
  await bookSome(9)
  for (const failures of [1, 2, 3]) {
    await assert.rejects(exportHours(options(down), end + 9_000), /destination is away/)
    assert.deepEqual(await sampleExport(book.pool, end + 9_000), { lagMs: 9_000, failures })
  }
  await bookSome(1)
  await assert.rejects(exportHours(options(down), next + 1_000), /destination is away/)
  assert.deepEqual(await sampleExport(book.pool, next + 1_000), { lagMs: HOUR_MS + 1_000, failures: 4 })
  // The first file is written: the second of the same hour has not failed.
  assert.ok(await exportHours(options(store), next + 1_000))
  assert.deepEqual(await sampleExport(book.pool, next + 1_000), { lagMs: HOUR_MS + 1_000, failures: 0 })
  await exported(store, next + 1_000)
  assert.deepEqual(await sampleExport(book.pool, next + 1_000), { lagMs: 0, failures: 0 })
})

test('the metrics of the export are scraped where there is one', async () => {
  const namesOf = (place: string | undefined): string[] => {
    const settings = exportSettings({ SLUICE_EXPORT: place, SLUICE_EXPORT_FORM: 'csv', AWS_REGION: 'us-east-1' })
    const environment = { logKey: undefined, export: settings }
    return gaugesOf(book.pool, book.redis, environment).flatMap(({ help }) => Object.keys(help))
  }
  const names = ['export_lag_seconds', 'export_failures']
  assert.deepEqual(
    namesOf('/tmp').filter((name) => name.startsWith('export_')),
    names,
  )
  assert.ok(names.every((name) => !namesOf(undefined).includes(name)))
})

test('a bucket without credentials is refused with the name of the variable', () => {
  const given = { SLUICE_EXPORT: 's3://b', SLUICE_EXPORT_FORM: 'csv', AWS_REGION: 'us-east-1' } as const
  assert.throws(() => exportSettings(given), /AWS_ACCESS_KEY_ID is missing/)
  assert.throws(() => exportSettings({ ...given, AWS_ACCESS_KEY_ID: 'a' }), /AWS_SECRET_ACCESS_KEY is missing/)
  assert.equal(exportSettings({ SLUICE_EXPORT_FORM: 'csv', AWS_REGION: 'us-east-1' }), undefined)
})
