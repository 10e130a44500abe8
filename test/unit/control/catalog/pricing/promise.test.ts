import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { batchRates, modelRates } from '../../../../../contract/catalog/catalog.ts'
import { chargeUnits } from '../../../../../contract/money/charge.ts'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { type Catalog, parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { coinViolation, promiseViolations } from '../../../../../control/catalog/pricing/promise.ts'
import { violationText } from '../../../../../control/catalog/pricing/promiseViolation.ts'
import { encodeRecord } from '../../../../../control/catalog/pricing/record.ts'
import { buildSheet, sheetContentHash } from '../../../../../control/catalog/pricing/sheet.ts'

const NOW = Date.UTC(2026, 0, 1)

/** A catalog of one chat model with this price block. */
function catalogOf(price: string, pricePrivate = ''): Catalog {
  return parseCatalog(
    'catalog.yaml',
    `coin: { usd: "1" }
providers: [ { id: acme, base_url: "http://x/v1", dialect: openai, data_policy: none } ]
models:
  - id: acme/m
    owned_by: acme
    modality: chat
    endpoints: [chat]
    context: 1000000
    max_output: 1000
    attested: ${pricePrivate !== ''}
    price: ${price}
${pricePrivate === '' ? '' : `    price_private: ${pricePrivate}`}
    routes: [ { provider: acme } ]`,
  )
}

const sheetOf = (catalog: Catalog, version = 1) => buildSheet(catalog, version, NOW + 1)

function rises(before: string, after: string, privateBefore = '', privateAfter = ''): string[] {
  const violations = promiseViolations(catalogOf(after, privateAfter), [sheetOf(catalogOf(before, privateBefore))])
  return violations.map((violation) => violation.key)
}

const BASE = '{ input: "1", output: "2", cached_input: "0.5" }'
const LONG = '{ input: "1", output: "2", long_context: { threshold: 1000, input: "2", output: "4" } }'

test('lower and equal prices break no promise', () => {
  assert.deepEqual(rises(BASE, BASE), [])
  assert.deepEqual(rises(BASE, '{ input: "0.9", output: "2", cached_input: "0.1" }'), [])
  assert.deepEqual(rises(BASE, '{ input: "1.00", output: "2.0", cached_input: "0.5" }'), [])
})

test('each way to raise a price is detected', () => {
  assert.deepEqual(rises(BASE, '{ input: "1.000000001", output: "2", cached_input: "0.5" }'), ['price.input'])
  // Without a price of its own a class costs what input costs.
  assert.deepEqual(rises(BASE, '{ input: "1", output: "2" }'), ['price.cached_input'])
  const write = '{ input: "1", output: "2", cached_input: "0.5", cache_write_5m: "1.25" }'
  assert.deepEqual(rises(BASE, write), ['price.cache_write_5m'])
  assert.deepEqual(rises(LONG, LONG.replace('"4"', '"5"')), ['price.long_context.output'])
  const lowered = rises(LONG, LONG.replace('1000', '999'))
  assert.deepEqual(lowered, ['price.long_context.input', 'price.long_context.output'])
  assert.deepEqual(rises(LONG, LONG.replace('1000', '1001')), [])
  assert.deepEqual(rises('{ input: "1", output: "2" }', LONG).length, 2)
  const batch = '{ input: "1", output: "2", batch_input: "0.5", batch_output: "1" }'
  assert.deepEqual(rises(batch, batch.replace('"0.5"', '"0.6"')), ['price.batch_input'])
})

test('private rates are promised too', () => {
  const cheap = '{ input: "0.5", output: "1" }'
  assert.deepEqual(rises(BASE, BASE, cheap, cheap), [])
  assert.deepEqual(rises(BASE, BASE, cheap, '{ input: "0.5", output: "1.1" }'), ['price_private.output'])
  assert.deepEqual(rises(BASE, BASE, '', '{ input: "3", output: "1" }'), [], 'nothing was promised')
})

test('a promised rate must not be withdrawn', () => {
  const batch = '{ input: "1", output: "2", batch_input: "0.5", batch_output: "1" }'
  assert.deepEqual(rises(batch, '{ input: "1", output: "2" }'), ['price.batch_input'])
  assert.deepEqual(rises(BASE, BASE, '{ input: "3", output: "4" }', ''), ['price_private'])
  const [violation] = promiseViolations(catalogOf('{ input: "1", output: "2" }'), [sheetOf(catalogOf(batch))])
  assert.equal(
    violationText(violation ?? assert.fail()),
    'catalog.yaml:11: acme/m: price.batch_input may not be withdrawn: ' +
      'price sheet 1 promises it until 2026-01-01T00:00:00.001Z',
  )
})

test('a private price of a sheet that did not attest the model is not binding', () => {
  const sheet = sheetOf(catalogOf(BASE, '{ input: "3", output: "4" }'))
  for (const model of sheet.models) delete model.attested
  assert.deepEqual(promiseViolations(catalogOf(BASE), [sheet]), [])
})

test('a cached token of a batch was promised at its standard rate if a sheet did not list a batch rate', () => {
  const before = sheetOf(catalogOf('{ input: "1", output: "2", batch_input: "0.8", batch_output: "1" }'))
  const dearer = catalogOf(
    '{ input: "1", output: "2", batch_input: "0.8", batch_output: "1", batch_cached_input: "0.9" }',
  )
  assert.deepEqual(
    promiseViolations(dearer, [before]).map(({ key }) => key),
    ['price.batch_cached_input'],
  )
})

test('a promised size must not be withdrawn', () => {
  const images = (price: string) =>
    parseCatalog(
      'catalog.yaml',
      `coin: { usd: "1" }
providers: [ { id: acme, base_url: "http://x/v1", dialect: openai, data_policy: none } ]
models:
  - { id: acme/i, owned_by: acme, modality: image, endpoints: [images], price: ${price}, routes: [ { provider: acme } ] }`,
    )
  const before = sheetOf(images('{ image: "1", sizes: { 512x512: "1", 1024x1024: "2" } }'))
  const keys = (price: string) => promiseViolations(images(price), [before]).map(({ key }) => key)
  assert.deepEqual(keys('{ image: "1", sizes: { 1024x1024: "2" } }'), ['price.sizes.512x512'])
  assert.deepEqual(keys('{ image: "1" }'), [], 'all sizes cost as much')
})

test('selling a model by another unit withdraws its price', () => {
  const sold = (modality: string, endpoint: string, price: string) =>
    parseCatalog(
      'catalog.yaml',
      `coin: { usd: "1" }
providers: [ { id: acme, base_url: "http://x/v1", dialect: openai, data_policy: none } ]
models:
  - { id: acme/m, owned_by: acme, modality: ${modality}, endpoints: [${endpoint}], price: ${price}, routes: [ { provider: acme } ] }`,
    )
  const image = sold('image', 'images', '{ image: "0.01" }')
  const rises = (after: Catalog) => promiseViolations(after, [sheetOf(image)]).map(({ key }) => key)
  assert.deepEqual(rises(sold('transcription', 'transcriptions', '{ second: "5" }')), ['price'])
  assert.deepEqual(rises(image), [])
  const speech = sheetOf(sold('speech', 'speech', '{ character: "1" }'))
  const embedding = promiseViolations(sold('embedding', 'embeddings', '{ input: "9" }'), [speech])
  assert.deepEqual(
    embedding.map(({ key, newUnits }) => [key, newUnits]),
    [['price', undefined]],
  )
})

test('the value of the coin is promised, in both directions', () => {
  const sheet = { ...sheetOf(catalogOf(BASE)), coin: { usd: '2' } }
  for (const usd of ['1', '3']) {
    assert.match(
      coinViolation({ ...catalogOf(BASE), coinUsdUnits: Number(usd) * 1_000_000_000 }, sheet) ?? '',
      new RegExp(
        `^catalog\\.yaml:1: coin\\.usd may not change from 2 to ${usd}: price sheet 1 promises it until 2026-`,
      ),
    )
  }
  assert.equal(coinViolation({ ...catalogOf(BASE), coinUsdUnits: 2_000_000_000 }, sheet), undefined)
  assert.equal(coinViolation(catalogOf(BASE), undefined), undefined, 'no promise holds')
})

test('the lowest of several promises counts, and is named with its end', () => {
  const sheets = [
    sheetOf(catalogOf('{ input: "5", output: "5" }'), 1),
    sheetOf(catalogOf('{ input: "3", output: "5" }'), 2),
  ]
  const violations = promiseViolations(catalogOf('{ input: "4", output: "5" }'), sheets)
  assert.equal(violations.length, 1)
  assert.equal(
    violationText(violations[0] ?? assert.fail()),
    'catalog.yaml:11: acme/m: price.input may not rise from 3 to 4 USD per million tokens: ' +
      'price sheet 2 promises it until 2026-01-01T00:00:00.001Z',
  )
})

const units = fc.integer({ min: 0, max: 5 })
const block = fc.record({
  input: units,
  output: units,
  cached: fc.option(units),
  long: fc.option(fc.record({ threshold: fc.integer({ min: 1, max: 4 }), input: units, output: units })),
})

function blockText(price: typeof block extends fc.Arbitrary<infer T> ? T : never): string {
  const cached = price.cached === null ? '' : `, cached_input: "${price.cached}"`
  const long = price.long
    ? `, long_context: { threshold: ${price.long.threshold}, input: "${price.long.input}", output: "${price.long.output}" }`
    : ''
  return `{ input: "${price.input}", output: "${price.output}"${cached}${long} }`
}

test('a promise is broken exactly when some request would cost more', () => {
  fc.assert(
    fc.property(block, block, (before, after) => {
      const [old, now] = [catalogOf(blockText(before)), catalogOf(blockText(after))]
      const [oldRates, nowRates] = [ratesOf(old), ratesOf(now)]
      let dearer = false
      for (let tokens = 1; tokens <= 6; tokens++) {
        for (const usage of [
          { input: tokens, cachedInput: 0, output: 0 },
          { input: 0, cachedInput: tokens, output: 0 },
          { input: tokens - 1, cachedInput: 1, output: 1_000 },
        ]) {
          const full = { ...usage, cacheWrite5m: 0, cacheWrite1h: 0, reasoning: 0 }
          dearer ||= chargeUnits(nowRates, full) > chargeUnits(oldRates, full)
        }
      }
      assert.equal(promiseViolations(now, [sheetOf(old)]).length > 0, dearer)
    }),
    { numRuns: 300 },
  )
})

const batchBlock = fc.record({
  input: units,
  output: units,
  cached: fc.option(units),
  batch: fc.option(fc.record({ input: units, output: units, cached: fc.option(units) })),
})

/** A price block whose batch rates hold: none is above its standard rate. */
function batchText({
  input,
  output,
  cached,
  batch,
}: typeof batchBlock extends fc.Arbitrary<infer T> ? T : never): string {
  const plain = cached === null ? '' : `, cached_input: "${cached}"`
  if (batch === null) return `{ input: "${input}", output: "${output}"${plain} }`
  const [least, most] = [Math.min(batch.input, input), Math.min(batch.output, output)]
  const batchCached = batch.cached === null ? '' : `, batch_cached_input: "${Math.min(batch.cached, cached ?? input)}"`
  return `{ input: "${input}", output: "${output}"${plain}, batch_input: "${least}", batch_output: "${most}"${batchCached} }`
}

test('a promise of batch rates is broken exactly if some job would cost more, or jobs are no longer accepted', () => {
  fc.assert(
    fc.property(batchBlock, batchBlock, (before, after) => {
      const [old, now] = [catalogOf(batchText(before)), catalogOf(batchText(after))]
      const [oldRates, nowRates] = [batchRatesOf(old), batchRatesOf(now)]
      const usages = [
        { input: 1, cachedInput: 0, output: 0 },
        { input: 0, cachedInput: 1, output: 0 },
        { input: 0, cachedInput: 0, output: 1 },
      ].map((usage) => ({ ...usage, cacheWrite5m: 0, cacheWrite1h: 0, reasoning: 0 }))
      const isDearer = (one: typeof oldRates, other: typeof oldRates) =>
        one !== undefined &&
        (other === undefined ||
          usages.some((usage) => chargeUnits(other, scaled(usage)) > chargeUnits(one, scaled(usage))))
      const isStandardDearer = isDearer(ratesOf(old), ratesOf(now))
      const isBroken = promiseViolations(now, [sheetOf(old)]).length > 0
      assert.equal(isBroken, isStandardDearer || isDearer(oldRates, nowRates))
    }),
    { numRuns: 500 },
  )
})

/** So many tokens that no rounding hides a difference. */
function scaled<Usage extends Readonly<Record<string, number>>>(usage: Usage): Usage {
  return Object.fromEntries(Object.entries(usage).map(([name, tokens]) => [name, tokens * 1_000_000])) as Usage
}

/** The batch rates as a job is charged by them; undefined for a model that takes no jobs. */
function batchRatesOf(catalog: Catalog) {
  const { rates, ratesBatch } = recordOf(catalog)
  if (!ratesBatch) return undefined
  return modelRates(batchRates(ratesBatch, modelRates(rates ?? assert.fail())))
}

/** The rates as a proxy gets them: through the encoded record. */
function ratesOf(catalog: Catalog) {
  return modelRates(recordOf(catalog).rates ?? assert.fail())
}

function recordOf(catalog: Catalog) {
  const publication = { version: 1, publishedAtMs: 1, validUntilMs: 2, sheetJson: '{}', listedAtMs: new Map() }
  const record = sluice.CatalogRecord.decode(encodeRecord(catalog, publication))
  return record.models?.[0] ?? assert.fail()
}

test('the sheet contains every public field and no private one', () => {
  const sheet = sheetOf(catalogOf(LONG, '{ input: "3", output: "4" }'), 7)
  assert.equal(sheet.version, '7')
  assert.deepEqual(sheet.models[0], {
    id: 'acme/m',
    name: 'acme/m',
    owned_by: 'acme',
    modality: 'chat',
    unit: 'million_tokens',
    // Attested hardware serves chat alone.
    endpoints: ['chat'],
    context: 1_000_000,
    max_output: 1_000,
    price: { input: '1', output: '2', long_context: { threshold: 1_000, input: '2', output: '4' } },
    price_private: { input: '3', output: '4' },
    attested: true,
    available: true,
    rate_locked_until: '2026-01-01T00:00:00.001Z',
    routes: [{ provider: 'acme', enabled: true, data_policy: 'none' }],
  })
  assert.ok(!JSON.stringify(sheet).includes('http://'))
})

test('the notation of a price does not change the sheet', () => {
  const written = '{ input: "1.0", output: "2.00", cached_input: "0.50" }'
  assert.equal(sheetContentHash(catalogOf(BASE)), sheetContentHash(catalogOf(written)))
  assert.notEqual(sheetContentHash(catalogOf(BASE)), sheetContentHash(catalogOf(LONG)))
})
