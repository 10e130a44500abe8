import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import type { Redis } from 'ioredis'
import { pino } from 'pino'
import { sluice } from '../../control/contract/generated/messages.js'
import { connectRedis } from '../../control/contract/redis.ts'
import { CATALOG_KEY, FEED_STREAM } from '../../control/contract/redisKeys.ts'
import { migrate } from '../../control/db/migrate.ts'
import { createPool, type Pool } from '../../control/db/pool.ts'
import { CatalogKeeper } from '../../control/pricing/catalogKeeper.ts'
import { freshDatabase, startTestRedis, type TestServer } from '../support/services.ts'
import { until } from '../support/stack.ts'
import { makeTempDir, removeTempDir } from '../support/tempDir.ts'
import { testCatalog } from '../support/testCatalog.ts'

const dir = makeTempDir('catalog')
const path = join(dir, 'catalog.yaml')
let server: TestServer
let redis: Redis
let pool: Pool
let keeper: CatalogKeeper

before(async () => {
  server = await startTestRedis()
  redis = connectRedis(server.url, 'wait')
  redis.on('error', () => {})
  pool = createPool(await freshDatabase())
  await migrate(pool)
  write('1')
  keeper = new CatalogKeeper({ path, pool, redis, log: pino({ enabled: false }) })
  await keeper.load()
  keeper.start()
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

test('a lower price is taken at a reload, a higher one refused', async () => {
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

test('Redis that lost everything gets the catalog back', async () => {
  await redis.flushall()
  await until('the catalog is back', async () => (await versionInRedis()) === 2, 15_000)
  assert.equal(await lastFeedVersion(), 2)
  await redis.del(CATALOG_KEY)
  await server.restart()
  await until('the catalog is back after a restart', async () => (await versionInRedis()) === 2, 15_000)
})
