import assert from 'node:assert/strict'
import { after, before, test } from 'node:test'
import { sluice } from '../../control/contract/generated/messages.js'
import { migrate } from '../../control/db/migrate.ts'
import { createPool, type Pool } from '../../control/db/pool.ts'
import { type Catalog, parseCatalog } from '../../control/pricing/catalogFile.ts'
import { publishCatalog } from '../../control/pricing/publish.ts'
import type { Sheet } from '../../control/pricing/sheet.ts'
import { CoinPrices, sheetJson, sheetListJson } from '../../control/pricing/sheetReads.ts'
import { currentRecord } from '../../control/pricing/sheetStore.ts'
import { CatalogError } from '../../control/pricing/yamlReader.ts'
import { freshDatabase } from '../support/services.ts'
import { type TestCatalogOptions, testCatalog } from '../support/testCatalog.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 1)

let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase())
  await migrate(pool)
})
after(() => pool.end())

function catalogOf(options: TestCatalogOptions = {}, url = 'http://127.0.0.1:1/v1'): Catalog {
  return parseCatalog('catalog.yaml', testCatalog(url, options))
}

const priced = (input: string): TestCatalogOptions => ({
  models: [{ id: 'test/small', price: { input, output: '2' } }],
})

test('sheets are versioned, immutable and held to their promises', async () => {
  const first = await publishCatalog(pool, catalogOf(priced('1')), START)
  assert.deepEqual([first.version, first.isNewSheet, first.isNewRecord], [1, true, true])

  const again = await publishCatalog(pool, catalogOf(priced('1.00')), START + DAY_MS)
  assert.deepEqual([again.version, again.isNewSheet, again.isNewRecord], [1, false, false])
  assert.deepEqual(again.record, first.record)

  const moved = await publishCatalog(pool, catalogOf(priced('1'), 'http://127.0.0.1:2/v1'), START + DAY_MS)
  assert.deepEqual([moved.version, moved.isNewSheet, moved.isNewRecord], [1, false, true])
  const record = sluice.CatalogRecord.decode((await currentRecord(pool)) ?? assert.fail())
  assert.equal(record.providers?.[0]?.baseUrl, 'http://127.0.0.1:2/v1')
  assert.equal(record.models?.[0]?.createdAtMs, START)

  const cheaper = await publishCatalog(pool, catalogOf(priced('0.5')), START + 2 * DAY_MS)
  assert.deepEqual([cheaper.version, cheaper.isNewSheet], [2, true])

  await assert.rejects(publishCatalog(pool, catalogOf(priced('0.75')), START + 31 * DAY_MS), (error: unknown) => {
    assert.ok(error instanceof CatalogError)
    assert.match(error.message, /^test\/small: price\.input may not rise from 0\.5 to 0\.75 USD per million tokens: /)
    assert.match(error.message, /price sheet 2 promises it until 2026-02-02T00:00:00\.000Z$/)
    return true
  })
  const later = await publishCatalog(pool, catalogOf(priced('0.75')), START + 33 * DAY_MS)
  assert.equal(later.version, 3)

  const sheet = JSON.parse(await sheetJson(pool, 2)) as Sheet
  assert.equal(sheet.version, '2')
  assert.equal(sheet.models[0]?.price['input'], '0.5')
  assert.deepEqual(sheet.rate_lock, { days: 30, valid_until: '2026-02-02T00:00:00.000Z' })
  const list = JSON.parse(await sheetListJson(pool))
  assert.deepEqual(
    list.data.map((entry: { version: string }) => entry.version),
    ['3', '2', '1'],
  )
  await assert.rejects(sheetJson(pool, 4), { row: 'sheet_not_found' })
  await assert.rejects(pool.query("UPDATE price_sheets SET sheet = '{}' WHERE version = 1"), /append only/)
  await assert.rejects(pool.query('DELETE FROM price_sheets'), /append only/)
})

test('a changed coin makes a new sheet, and each sheet keeps its own', async () => {
  const { version } = await publishCatalog(pool, catalogOf({ ...priced('0.75'), coinUsd: '0.25' }), START + 34 * DAY_MS)
  const coins = new CoinPrices(pool)
  assert.equal(await coins.ofSheet(version), 250_000_000)
  assert.equal(await coins.ofSheet(1), 1_000_000_000)
  await assert.rejects(coins.ofSheet(999), /price sheet 999 is not in the book/)
})

test('a route that is switched off makes a new sheet at any time', async () => {
  const routes = [{ provider: 'mock', model: 'chat-small', enabled: false }]
  const model = { id: 'test/small', price: { input: '0.75', output: '2' }, routes }
  const off = await publishCatalog(pool, catalogOf({ models: [model], coinUsd: '0.25' }), START + 35 * DAY_MS)
  assert.equal(off.isNewSheet, true)
  const sheet = JSON.parse(await sheetJson(pool, off.version)) as Sheet
  assert.equal(sheet.models[0]?.available, false)
})

test('controls that start at once with one catalog publish it once', async () => {
  const catalog = catalogOf({ models: [{ id: 'test/together', price: { input: '1', output: '1' } }] })
  const results = await Promise.all(Array.from({ length: 6 }, () => publishCatalog(pool, catalog, START + 36 * DAY_MS)))
  assert.equal(new Set(results.map((result) => result.version)).size, 1)
  assert.equal(results.filter((result) => result.isNewSheet).length, 1)
  assert.equal(results.filter((result) => result.isNewRecord).length, 1)
})
