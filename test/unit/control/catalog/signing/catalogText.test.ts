// Goal: the signed text depends on what is sold and on nothing that the operator keeps to itself, whatever the catalog.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import type { Catalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { encodeRecord } from '../../../../../control/catalog/pricing/record.ts'
import { buildSheet, withPromiseEnd } from '../../../../../control/catalog/pricing/sheet.ts'
import { catalogContent, catalogText } from '../../../../../control/catalog/signing/catalogText.ts'
import { sha256Hex, sheetDigest } from '../../../../../control/catalog/signing/statements.ts'
import { canonical } from '../../../../support/clients/catalogClient.ts'
import { rounds } from '../../../../support/rounds.ts'
import { randomCatalog } from '../../../../support/samples/randomCatalogs.ts'

const NOW = Date.UTC(2026, 0, 1)
const SECRET = 'kept-private'

/** What is in force once a catalog is published. @param untilMs the end of its promise */
function recordOf(catalog: Catalog, version = 1, untilMs = NOW + 1) {
  const sheetJson = JSON.stringify(buildSheet(catalog, version, untilMs))
  const publication = { version, publishedAtMs: NOW, validUntilMs: untilMs, sheetJson, listedAtMs: new Map() }
  return encodeRecord(catalog, publication)
}

function textOf(catalog: Catalog): string {
  return catalogText(catalogContent(recordOf(catalog)), {
    version: 2,
    previous: { version: 1, digest: sha256Hex('') },
    signer: { address: `0x${'a'.repeat(40)}`, ed25519: 'b'.repeat(64) },
    validFromMs: NOW,
    validUntilMs: NOW + 1,
    earlierSheets: [{ version: 4, text: JSON.stringify(buildSheet(catalog, 4, NOW)) }],
  })
}

const QUOTA = { requestsPerMinute: 123_454_321, tokensPerMinute: 123_454_321, parallel: 123_454_321 }

/** The same catalog with everything else in the places that clients do not see. */
function withSecrets(catalog: Catalog): Catalog {
  return {
    ...catalog,
    providers: catalog.providers.map((one) => ({
      ...one,
      baseUrl: `http://${SECRET}/v1`,
      keys: [{ id: SECRET, env: '', file: `/${SECRET}`, weight: 2, models: [SECRET], ...QUOTA }],
    })),
    models: catalog.models.map((model) => ({
      ...model,
      routes: model.routes.map((route) => ({ ...route, model: SECRET, costUnits: 123_454_321 })),
    })),
    tools: catalog.tools.map((tool) => ({
      ...tool,
      baseUrl: `http://${SECRET}`,
      apiKeyEnv: SECRET,
      path: `/${SECRET}`,
    })),
  }
}

/** Catalogs with a seed each, so that a failure can be seen again. */
const catalogs = fc.infiniteStream(fc.double({ min: 1e-6, max: 0.999999, noNaN: true })).map((numbers) => {
  return randomCatalog(() => numbers.next().value)
})

test('no catalog contains private fields, and a change of one makes no new version', () => {
  fc.assert(
    fc.property(catalogs, (catalog) => {
      const other = withSecrets(catalog)
      assert.ok(!textOf(other).includes(SECRET))
      assert.ok(!textOf(other).includes('0.123454321'))
      assert.equal(textOf(other), textOf(catalog))
      assert.equal(catalogContent(recordOf(other)).hash, catalogContent(recordOf(catalog)).hash)
    }),
    { numRuns: rounds({ short: 8, long: 100 }) },
  )
})

test('texts are canonical, with every model, price and route of the sheet', () => {
  fc.assert(
    fc.property(catalogs, (catalog) => {
      const text = textOf(catalog)
      const json = JSON.parse(text)
      assert.equal(text, canonical(json))
      const sheet = buildSheet(catalog, 1, NOW)
      for (const [place, model] of sheet.models.entries()) {
        const { rate_locked_until: _, ...sold } = model
        assert.deepEqual(json.models[place], sold)
      }
      assert.equal(json.tools.length, catalog.tools.length)
      assert.deepEqual(json.coin, sheet.coin)
    }),
    { numRuns: rounds({ short: 8, long: 100 }) },
  )
})

test('extending a promise changes neither the content nor the hash of the sheet; a price change does', () => {
  fc.assert(
    fc.property(catalogs, fc.integer({ min: 2, max: 1e12 }), (catalog, laterMs) => {
      const sheet = JSON.stringify(buildSheet(catalog, 3, NOW))
      assert.equal(sheetDigest(withPromiseEnd(sheet, NOW + laterMs)), sheetDigest(sheet))
      assert.notEqual(sheetDigest(JSON.stringify(buildSheet(catalog, 4, NOW))), sheetDigest(sheet))
      const [before, later] = [recordOf(catalog), recordOf(catalog, 1, NOW + laterMs)].map(catalogContent)
      assert.equal(before?.hash, later?.hash)
      const dearer = { ...catalog, coinUsdUnits: catalog.coinUsdUnits + 1 }
      assert.notEqual(catalogContent(recordOf(dearer)).hash, before?.hash)
      const ending = { ...catalog, renewsPromise: !catalog.renewsPromise }
      assert.notEqual(catalogContent(recordOf(ending)).hash, before?.hash)
    }),
    { numRuns: rounds({ short: 8, long: 100 }) },
  )
})
