import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sluice } from '../../../contract/wire/generated/messages.js'
import { type Catalog, parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog, refuseBrokenPromises } from '../../../control/catalog/pricing/publish.ts'
import { renewPromise } from '../../../control/catalog/pricing/renewPromise.ts'
import type { Sheet } from '../../../control/catalog/pricing/sheet.ts'
import { CoinPrices, sheetJson, sheetListJson } from '../../../control/catalog/pricing/sheetReads.ts'
import { currentRecord } from '../../../control/catalog/pricing/sheetStore.ts'
import { GATEWAY_WIDE, listActivity } from '../../../control/runtime/activity/activity.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { FileError } from '../../../control/runtime/files/yamlFile.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'
import { type TestCatalogOptions, testCatalog } from '../../support/testCatalog.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 1)

let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
})
after(() => pool.end())

function catalogOf(options: TestCatalogOptions = {}, url = 'http://127.0.0.1:1/v1'): Catalog {
  return parseCatalog('catalog.yaml', testCatalog(url, options))
}

const priced = (input: string): TestCatalogOptions => ({
  models: [{ id: 'test/small', price: { input, output: '2' } }],
})

test('sheets are versioned and immutable, and their promises are enforced', async () => {
  const first = await publishCatalog(pool, catalogOf(priced('1')), limits, START)
  assert.deepEqual([first.version, first.isNewSheet, first.isNewRecord], [1, true, true])

  const again = await publishCatalog(pool, catalogOf(priced('1.00')), limits, START + DAY_MS)
  assert.deepEqual([again.version, again.isNewSheet, again.isNewRecord], [1, false, false])
  assert.deepEqual(again.record, first.record)

  const moved = await publishCatalog(pool, catalogOf(priced('1'), 'http://127.0.0.1:2/v1'), limits, START + DAY_MS)
  assert.deepEqual([moved.version, moved.isNewSheet, moved.isNewRecord], [1, false, true])
  const record = sluice.CatalogRecord.decode((await currentRecord(pool)) ?? assert.fail())
  assert.equal(record.providers?.[0]?.baseUrl, 'http://127.0.0.1:2/v1')
  assert.equal(record.models?.[0]?.createdAtMs, START)

  const cheaper = await publishCatalog(pool, catalogOf(priced('0.5')), limits, START + 2 * DAY_MS)
  assert.deepEqual([cheaper.version, cheaper.isNewSheet], [2, true])

  await assert.rejects(
    publishCatalog(pool, catalogOf(priced('0.75')), limits, START + 31 * DAY_MS),
    (error: unknown) => {
      assert.ok(error instanceof FileError)
      assert.match(
        error.message,
        /^catalog\.yaml:\d+: test\/small: price\.input may not rise from 0\.5 to 0\.75 USD per million tokens: /,
      )
      assert.match(error.message, /price sheet 2 promises it until 2026-02-02T00:00:00\.000Z$/)
      return true
    },
  )
  const later = await publishCatalog(pool, catalogOf(priced('0.75')), limits, START + 33 * DAY_MS)
  assert.equal(later.version, 3)

  const sheet = JSON.parse(await sheetJson(pool, 2)) as Sheet
  assert.equal(sheet.version, '2')
  assert.equal(sheet.models[0]?.price['input'], '0.5')
  assert.deepEqual(sheet.rate_lock, { days: 30, valid_until: '2026-02-02T00:00:00.000Z', renews: true })
  const list = JSON.parse(await sheetListJson(pool))
  assert.deepEqual(
    list.data.map((entry: { version: string }) => entry.version),
    ['3', '2', '1'],
  )
  await assert.rejects(sheetJson(pool, 4), { row: 'sheet_not_found' })
  await assert.rejects(pool.query("UPDATE price_sheets SET sheet = '{}' WHERE version = 1"), /append only/)
  await assert.rejects(pool.query('DELETE FROM price_sheets'), /append only/)
})

test('a changed coin price makes a new sheet, and each sheet keeps its own', async () => {
  const changed = catalogOf({ ...priced('0.75'), coinUsd: '0.25' })
  const line =
    /catalog\.yaml:\d+: coin\.usd may not change from 1 to 0\.25: price sheet 3 promises it until 2026-03-05T/
  await assert.rejects(publishCatalog(pool, changed, limits, START + 34 * DAY_MS), line)
  await assert.rejects(refuseBrokenPromises(pool, changed, START + 34 * DAY_MS), line)
  const { version } = await publishCatalog(pool, changed, limits, START + 34 * DAY_MS, {
    coinChangeReason: 'the treasury said so',
  })
  const [entry] = await listActivity(pool, GATEWAY_WIDE, 10, '')
  assert.deepEqual(
    [entry?.type, entry?.target, entry?.details],
    ['coin.repriced', 'price sheet 4', { from_usd: '1', to_usd: '0.25', reason: 'the treasury said so' }],
  )
  // What a sheet before the change promised of the coin binds no more.
  await refuseBrokenPromises(pool, changed, START + 35 * DAY_MS)
  const coins = new CoinPrices(pool)
  assert.equal(await coins.ofSheet(version), 250_000_000)
  assert.equal(await coins.ofSheet(1), 1_000_000_000)
  await assert.rejects(coins.ofSheet(999), /price sheet 999 is not in the book/)
})

test('disabling a route makes a new sheet at any time', async () => {
  const routes = [{ provider: 'mock', model: 'chat-small', enabled: false }]
  const model = { id: 'test/small', price: { input: '0.75', output: '2' }, routes }
  const off = await publishCatalog(pool, catalogOf({ models: [model], coinUsd: '0.25' }), limits, START + 35 * DAY_MS)
  assert.equal(off.isNewSheet, true)
  const sheet = JSON.parse(await sheetJson(pool, off.version)) as Sheet
  assert.equal(sheet.models[0]?.available, false)
})

test('control instances that start concurrently with one catalog publish it once', async () => {
  const catalog = catalogOf({ models: [{ id: 'test/together', price: { input: '1', output: '1' } }], coinUsd: '0.25' })
  const results = await Promise.all(
    Array.from({ length: 6 }, () => publishCatalog(pool, catalog, limits, START + 36 * DAY_MS)),
  )
  assert.equal(new Set(results.map((result) => result.version)).size, 1)
  assert.equal(results.filter((result) => result.isNewSheet).length, 1)
  assert.equal(results.filter((result) => result.isNewRecord).length, 1)
})

test('the promise of the current sheet is renewed daily, until its catalog lets it expire', async () => {
  const models = [{ id: 'test/renewed', price: { input: '1', output: '1' } }]
  const kept = catalogOf({ models, coinUsd: '0.25' })
  const startMs = START + 100 * DAY_MS
  const { version } = await publishCatalog(pool, kept, limits, startMs)
  const endOf = async () => (JSON.parse(await sheetJson(pool, version)) as Sheet).rate_lock.valid_until
  const day = (days: number) => new Date(startMs + days * DAY_MS).toISOString()

  assert.equal(await renewPromise(pool, startMs + DAY_MS - 1), undefined)
  assert.equal(await endOf(), day(30))
  const renewed = (await renewPromise(pool, startMs + DAY_MS)) ?? assert.fail('the promise is renewed')
  assert.equal(await endOf(), day(31))
  assert.equal(await renewPromise(pool, startMs + DAY_MS), undefined, 'once a day')

  const inForce = sluice.CatalogRecord.decode((await currentRecord(pool)) ?? assert.fail())
  assert.deepEqual([inForce.version, inForce.validUntilMs], [version, startMs + 31 * DAY_MS])
  const sheet = JSON.parse(Buffer.from(inForce.sheetJson ?? assert.fail()).toString()) as Sheet
  assert.deepEqual([sheet.rate_lock.valid_until, sheet.models[0]?.rate_locked_until], [day(31), day(31)])
  assert.equal(JSON.stringify(sheet), await sheetJson(pool, version))
  assert.equal(JSON.parse(await sheetListJson(pool)).data[0].valid_until, day(31))
  // The same file again changes nothing.
  const again = await publishCatalog(pool, kept, limits, startMs + 2 * DAY_MS)
  assert.deepEqual([again.version, again.isNewRecord], [version, false])
  assert.deepEqual(again.record, renewed.record)

  // After a year away from the schedule it is promised for 30 days again.
  await renewPromise(pool, startMs + 365 * DAY_MS)
  assert.equal(await endOf(), day(395))
  const dearer = catalogOf({ models: [{ id: 'test/renewed', price: { input: '2', output: '1' } }], coinUsd: '0.25' })
  await assert.rejects(publishCatalog(pool, dearer, limits, startMs + 394 * DAY_MS), /promises it until/)

  const ending = await publishCatalog(pool, { ...kept, renewsPromise: false }, limits, startMs + 366 * DAY_MS)
  assert.equal(ending.isNewSheet, true)
  assert.equal(await renewPromise(pool, startMs + 380 * DAY_MS), undefined)
  await assert.rejects(publishCatalog(pool, dearer, limits, startMs + 396 * DAY_MS - 1), /promises it until/)
  assert.equal((await publishCatalog(pool, dearer, limits, startMs + 396 * DAY_MS)).isNewSheet, true)
})
