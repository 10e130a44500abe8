import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { connectRedis, type Redis } from '../../../contract/wire/redis.ts'
import { CATALOG_KEY, FEED_STREAM } from '../../../contract/wire/redisKeys.ts'
import { readCatalogFile } from '../../../control/catalog/pricing/catalogFile.ts'
import { CatalogKeeper } from '../../../control/catalog/pricing/catalogKeeper.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { CatalogKey, generateCatalogKey } from '../../../control/catalog/signing/catalogKey.ts'
import { lastCatalog } from '../../../control/catalog/signing/catalogStore.ts'
import { signingWith } from '../../../control/catalog/signing/signCatalog.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../../support/services.ts'
import { until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'
import { testCatalog } from '../../support/testCatalog.ts'

const dir = makeTempDir('catalog')
const path = join(dir, 'catalog.yaml')
let server: TestServer
let redis: Redis
let pool: Pool
let keeper: CatalogKeeper
let nowMs = Date.now()
const lines: string[] = []
const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
const newKeeper = () => new CatalogKeeper({ path, pool, redis, log, now: () => nowMs, limits })

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  redis.on('error', () => {})
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
  write('1')
  keeper = newKeeper()
  await keeper.start()
})

after(async () => {
  await keeper.stop()
  redis.disconnect()
  await pool.end()
  await server.stop()
  removeTempDir(dir)
})

function write(input: string): void {
  const models = [{ id: 'test/small', price: { input, output: '2' } }]
  writeFileSync(path, testCatalog('http://127.0.0.1:1/v1', { models }))
}

async function versionInRedis(): Promise<number | undefined> {
  const record = await redis.getBuffer(CATALOG_KEY)
  return record === null ? undefined : sluice.CatalogRecord.decode(record).version
}

async function lastFeedVersion(): Promise<number | null | undefined> {
  const [last] = await redis.xrevrangeBuffer(FEED_STREAM, '+', '-', 'COUNT', 1)
  const bytes = last?.[1][1]
  return bytes && sluice.FeedEvent.decode(bytes).catalogPublished
}

test('the record is in Redis and announced', async () => {
  assert.equal(await versionInRedis(), 1)
  assert.equal(await lastFeedVersion(), 1)
})

test('a reload accepts a lower price and rejects a higher one', async () => {
  write('0.9')
  assert.equal(await keeper.reload(), true)
  assert.equal(await versionInRedis(), 2)
  assert.equal(await lastFeedVersion(), 2)
  write('1')
  assert.equal(await keeper.reload(), false)
  writeFileSync(path, 'models: [')
  assert.equal(await keeper.reload(), false)
  assert.equal(await versionInRedis(), 2)
})

test('a start with a file that breaks a promise continues with the current sheet and reports the remedy', async () => {
  write('1')
  await redis.del(CATALOG_KEY)
  lines.length = 0
  const started = newKeeper()
  await started.start()
  await started.stop()
  assert.equal(await versionInRedis(), 2)
  const warning = lines.map((line) => JSON.parse(line)).find((line) => line.problems !== undefined)
  assert.match(warning?.problems[0], /^catalog\.yaml:\d+: test\/small: price\.input may not rise from 0\.9 to 1 USD/)
  assert.match(warning.msg, /the sheet in force stays; to resolve it, .*SLUICE_CATALOG/)

  writeFileSync(path, 'models: [')
  await assert.rejects(newKeeper().start(), /catalog\.yaml:\d+: /, 'a file that cannot be read is another matter')
})

test('the promise of the current prices is also renewed in Redis', async () => {
  nowMs += 40 * 86_400_000
  await keeper.renew()
  const record = sluice.CatalogRecord.decode((await redis.getBuffer(CATALOG_KEY)) ?? assert.fail())
  assert.deepEqual([record.version, record.validUntilMs], [2, nowMs + 30 * 86_400_000])
  const sheet = JSON.parse(Buffer.from(record.sheetJson ?? assert.fail()).toString())
  assert.equal(sheet.rate_lock.valid_until, new Date(nowMs + 30 * 86_400_000).toISOString())
})

test('control signs catalogs that were published without a key, and warns once of a key that is not the signer', async () => {
  // Lines of its own: the keeper that runs meanwhile may find the new catalog absent from Redis, and logs that.
  const ownLines: string[] = []
  const ownLog = pino({ level: 'warn' }, { write: (line) => ownLines.push(line) })
  const keyed = (key: CatalogKey) => {
    return new CatalogKeeper({
      path,
      pool,
      redis,
      log: ownLog,
      now: () => nowMs,
      sign: signingWith(key, limits),
      limits,
    })
  }
  const [first, stranger] = [generateCatalogKey(), generateCatalogKey()].map((secret) => CatalogKey.of(secret))
  assert.ok(first && stranger)
  assert.equal(await lastCatalog(pool), undefined)
  await keyed(first).renew()
  assert.deepEqual([(await lastCatalog(pool))?.version, (await lastCatalog(pool))?.sheetVersion], [1, 2])

  write('0.8')
  await publishCatalog(pool, await readCatalogFile(path), limits, nowMs)
  const refused = keyed(stranger)
  for (let time = 0; time < 3; time++) await refused.renew()
  assert.equal((await lastCatalog(pool))?.version, 1)
  const [warning, ...more] = ownLines.map((line) => JSON.parse(line))
  assert.deepEqual(more, [])
  assert.deepEqual([warning.signer, warning.key], [first.keys.address, stranger.keys.address])
  assert.match(warning.msg, /another key signs it: set that one as SLUICE_CATALOG_KEY, or .*"catalog rotate-signer"/)
  await keyed(first).renew()
  assert.deepEqual([(await lastCatalog(pool))?.version, (await lastCatalog(pool))?.sheetVersion], [2, 3])
  await keyed(first).load()
  assert.equal((await lastCatalog(pool))?.version, 2)
})

test('a Redis that lost its data gets the catalog again', async () => {
  await redis.flushall()
  await until('the catalog is back', async () => (await versionInRedis()) === 3)
  assert.equal(await lastFeedVersion(), 3)
  await redis.del(CATALOG_KEY)
  await server.restart()
  await until('the catalog is back after a restart', async () => (await versionInRedis()) === 3)
})

test('a catalog published by command stays in force over starts, until the configured file changes', async () => {
  const events = () => lines.map((line) => JSON.parse(line).event)
  const startOnce = async () => {
    lines.length = 0
    const started = newKeeper()
    await started.start()
    await started.stop()
  }
  write('0.8')
  assert.equal(await keeper.reload(), true)
  const other = join(dir, 'other.yaml')
  const models = [{ id: 'test/small', price: { input: '0.7', output: '2' } }]
  writeFileSync(other, testCatalog('http://127.0.0.1:1/v1', { models }))
  const { version } = await publishCatalog(pool, await readCatalogFile(other), limits, nowMs)
  for (let starts = 0; starts < 2; starts++) {
    await startOnce()
    assert.equal(await versionInRedis(), version)
    assert.ok(events().includes('catalog_file_unchanged'))
  }
  write('0.6')
  await startOnce()
  assert.equal(await versionInRedis(), version + 1)
  assert.ok(events().includes('catalog_published_replaced'))
  await startOnce()
  assert.equal(await versionInRedis(), version + 1)
  assert.ok(!events().some((event) => event.startsWith('catalog_')))
})
