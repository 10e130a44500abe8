// Goal: the prices of providers' lists are kept once for each change, beside those that are sold; a list of any quality harms nothing.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import {
  listObservations,
  type ObservationFilter,
  observationJson,
} from '../../../control/catalog/priceLists/observationStore.ts'
import { priceGauges } from '../../../control/catalog/priceLists/priceGauges.ts'
import { PriceObserver } from '../../../control/catalog/priceLists/priceObserver.ts'
import { shownUrl } from '../../../control/catalog/priceLists/readList.ts'
import { readCatalogFile } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'
import { testCatalog } from '../../support/testCatalog.ts'

const HOUR_MS = 3_600_000
const dir = makeTempDir('observations')
const path = join(dir, 'catalog.yaml')
const lines: string[] = []
const log = pino({ level: 'warn' }, { write: (line) => lines.push(line) })
const ALL: ObservationFilter = { model: undefined, provider: undefined, fromMs: undefined, toMs: undefined }

let pool: Pool
let nowMs = Date.UTC(2026, 0, 1)
let answer: RequestListener = () => {}
let asked: string[] = []
const server = createServer((request, response) => {
  asked.push(`${request.method} ${request.url} ${request.headers.authorization ?? 'no key'}`)
  answer(request, response)
})

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
  await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening))
  await write({})
})
after(async () => {
  server.closeAllConnections()
  server.close()
  await pool.end()
  removeTempDir(dir)
})

const baseUrl = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}/v1`

/** Writes and publishes the catalog. */
async function write({ lists = [{ provider: 'mock' }] as object[], input = '1', publish = true }): Promise<void> {
  const price = { input, output: '2' }
  const models = [
    { id: 'test/one', price, routes: [{ provider: 'mock', model: 'up-one' }] },
    {
      id: 'test/other',
      price,
      routes: [
        { provider: 'mock', model: 'up-two' },
        { provider: 'mock', model: 'up-one' },
      ],
    },
  ]
  const catalog = JSON.parse(testCatalog(baseUrl(), { models }))
  writeFileSync(path, JSON.stringify({ ...catalog, price_lists: lists }))
  if (publish) await publishCatalog(pool, await readCatalogFile(path), limits)
}

const listOf = (prices: Record<string, string>) =>
  JSON.stringify({ data: Object.entries(prices).map(([id, prompt]) => ({ id, pricing: { prompt } })) })
const serve = (body: string) => {
  answer = (_, response) => response.end(body)
}

async function observe(changed: Parameters<typeof limitsWith>[0] = {}): Promise<PriceObserver> {
  lines.length = 0
  asked = []
  nowMs += HOUR_MS
  const observer = new PriceObserver({ path, pool, log, now: () => nowMs, limits: limitsWith(changed) })
  await observer.observe()
  return observer
}

const observations = async (filter: Partial<ObservationFilter> = {}, limit = 100, below = '') =>
  (await listObservations(pool, { ...ALL, ...filter }, limit, below)).map(observationJson)
const current = async () => (await observations()).filter((one) => one.current)
const warnings = () => lines.map((line) => JSON.parse(line) as { msg: string; [member: string]: unknown })

test('prices of a list are stored with its hash, beside the sold prices', async () => {
  const body = listOf({ 'up-one': '0.0000004', 'up-two': '0.0000011', unsold: '0.000003' })
  serve(body)
  const { stats } = await observe()
  assert.deepEqual(stats, { reads: 1, failures: 0 })
  // No key goes to a list.
  assert.deepEqual(asked, ['GET /v1/models no key'])
  const found = await current()
  const sha256 = createHash('sha256').update(body).digest('hex')
  const rows = found.map(({ upstream_model, model, price, sold, difference, above_sold: above }) => {
    return [upstream_model, model, price['input'], sold?.['input'], difference?.['input'], above]
  })
  assert.deepEqual(rows.sort(), [
    ['unsold', null, '3', undefined, undefined, false],
    ['up-one', 'test/one', '0.4', '1', '0.6', false],
    ['up-one', 'test/other', '0.4', '1', '0.6', false],
    ['up-two', 'test/other', '1.1', '1', '-0.1', true],
  ])
  for (const one of found) {
    assert.deepEqual([one.sha256, one.last_sha256, one.source], [sha256, sha256, null])
    assert.equal(one.observed_at, new Date(nowMs).toISOString())
  }
  assert.deepEqual(await priceGauges(pool).read(), { prices_above_sold: 1 })
  const [warning, ...more] = warnings()
  assert.deepEqual(more, [])
  assert.equal(warning?.msg, 'an upstream list price is above the price that is sold')
  assert.deepEqual([warning?.['provider'], warning?.['model'], warning?.['above']], ['mock', 'test/other', ['input']])
})

test('an unchanged price updates its observation; a change is a new row; a removed model is past', async () => {
  const before = await observations()
  await observe()
  const again = await observations()
  assert.deepEqual(
    again.map(({ id }) => id),
    before.map(({ id }) => id),
  )
  assert.ok(again.every(({ last_seen_at: at }) => at === new Date(nowMs).toISOString()))
  assert.deepEqual(warnings(), [], 'a price that stays above is told once')

  serve(listOf({ 'up-one': '0.0000005', 'up-two': '0.0000011' }))
  await observe()
  const changed = await observations({ model: 'test/one' })
  assert.deepEqual(
    changed.map((one) => [one.price['input'], one.current]),
    [
      ['0.5', true],
      ['0.4', false],
    ],
  )
  assert.equal(changed[1]?.last_seen_at, again[0]?.last_seen_at)
  assert.deepEqual(
    (await observations({ model: 'unsold' })).map((one) => one.current),
    [false],
  )
  const kept = (await observations({ model: 'up-two' }))[0]
  assert.notEqual(kept?.sha256, kept?.last_sha256)
})

test('a lower sold price appears in a new observation', async () => {
  await write({ input: '0.45' })
  await observe()
  const found = await observations({ model: 'test/one' })
  assert.deepEqual([found[0]?.sold, found[0]?.difference], [{ input: '0.45' }, { input: '-0.05' }])
  assert.equal(warnings().length, 3)
})

test('observations can be filtered by model, provider and time, with pagination', async () => {
  const all = await observations()
  assert.deepEqual(await observations({ provider: 'mock' }), all)
  assert.deepEqual(await observations({ provider: 'nobody' }), [])
  const upstream = await observations({ model: 'up-one' })
  assert.ok(upstream.length > 0 && upstream.every((one) => one.upstream_model === 'up-one'))
  const pages = []
  for (let below = ''; ; ) {
    const page = await observations({}, 2, below)
    if (page.length === 0) break
    pages.push(...page)
    below = page.at(-1)?.id ?? ''
  }
  assert.deepEqual(pages, all)
  const first = Date.parse(all.at(-1)?.observed_at ?? '')
  assert.deepEqual(await observations({ toMs: first }), [])
  assert.equal((await observations({ toMs: first + 1 })).length, 4)
  assert.deepEqual(await observations({ fromMs: nowMs + 1 }), [])
  assert.equal((await observations({ fromMs: nowMs })).length, (await current()).length)
})

test('malformed price lists are bounded and logged, and change no observation', async () => {
  const known = await observations()
  const chunk = Buffer.alloc(1_048_576, ' ')
  const endless: RequestListener = (_, response) => {
    let sent = 0
    const send = (): void => {
      while (sent++ < 64) if (!response.write(chunk)) return void response.once('drain', send)
      response.end()
    }
    send()
  }
  const faults: [RequestListener, RegExp, priceListTimeoutMs?: number][] = [
    [(_, response) => response.end('{"data":['), /it is no list of models/],
    [(_, response) => response.end(JSON.stringify({ data: 'all' })), /it is no list of models/],
    [(_, response) => response.writeHead(503).end(listOf({ 'up-one': '1' })), /answered with 503/],
    [(_, response) => response.writeHead(302, { location: 'http://127.0.0.1/' }).end(), /answered with 302/],
    [endless, /too_large/],
    [() => {}, /timeout/, 500],
    [(_, response) => void response.write('{'), /timeout/, 500],
    [(request) => request.socket.destroy(), /unreachable/],
  ]
  for (const [play, reason, priceListTimeoutMs = 30_000] of faults) {
    answer = play
    const { stats } = await observe({ priceListTimeoutMs })
    assert.deepEqual(stats, { reads: 1, failures: 1 }, String(reason))
    const [warning] = warnings()
    assert.equal(warning?.msg, 'could not read a price list')
    assert.match(String(warning?.['reason']), reason)
    assert.deepEqual(await observations(), known)
  }
})

test('a list without prices is a list, and files are lists', async () => {
  serve(JSON.stringify({ data: [{ id: 'up-one' }, { id: 'up-two' }] }))
  await write({ lists: [{ provider: 'mock' }, { provider: 'mock', file: 'prices.json' }], input: '0.45' })
  writeFileSync(
    join(dir, 'prices.json'),
    JSON.stringify({ models: [{ id: 'up-one', price: { input: '0.3', output: '1' } }] }),
  )
  const { stats } = await observe()
  assert.deepEqual(stats, { reads: 2, failures: 0 })
  const found = await current()
  assert.deepEqual([...new Set(found.map(({ upstream_model: name }) => name))], ['up-one'])
  assert.deepEqual(found[0]?.difference, { input: '0.15', output: '1' })

  for (const [file, reason] of [
    ['missing.json', /cannot be read: ENOENT/],
    ['.', /it is no file/],
  ] as const) {
    await write({ lists: [{ provider: 'mock', file }], input: '0.45', publish: false })
    await observe()
    assert.match(String(warnings()[0]?.['reason']), reason)
  }
  // Observations of a list that the catalog does not name any more are past.
  assert.deepEqual(await current(), [])
})

test('addresses are shown if the operator configured them and they are public', async () => {
  serve(listOf({ 'up-one': '0.0000004' }))
  await write({ lists: [{ provider: 'mock', url: `${baseUrl()}/named` }], input: '0.45' })
  await observe()
  assert.deepEqual(asked, ['GET /v1/named no key'])
  assert.equal((await current())[0]?.source, null)
  const file = JSON.stringify({ ...JSON.parse(testCatalog(baseUrl())), price_lists: [{ provider: 'x' }] })
  writeFileSync(path, file)
  await assert.rejects(observe(), /price_lists\[0\]\.provider names an unknown provider "x"/)
  const list = { provider: 'mock', url: 'https://example.com/models', prefix: 'mock/' }
  for (const [lists, reason] of [
    [[list, list], /price_lists\[1\] repeats price_lists\[0\]/],
    [[{ ...list, file: 'x' }], /price_lists\[0\] must have url or file, not both/],
    [[{ ...list, url: 'https://example.com/models?key=1' }], /price_lists\[0\]\.url must be an http or https address/],
    [Array(33).fill(list), /price_lists must be a list of at most 32 price lists/],
  ] as const) {
    writeFileSync(path, JSON.stringify({ ...JSON.parse(testCatalog(baseUrl())), price_lists: lists }))
    await assert.rejects(observe(), reason)
  }
  const shown = (url: string, isNamed = true) =>
    shownUrl({ provider: 'mock', place: { url }, prefix: '', isNamed, server: {} })
  assert.equal(shown('https://example.com/models'), 'https://example.com/models')
  assert.equal(shown('https://example.com/models', false), undefined)
  assert.equal(shown('https://prices.internal/models'), undefined)
  assert.equal(shown('http://10.0.0.1/models'), undefined)
})

test('stored observations are bounded; the least recently seen are evicted first', async () => {
  await write({ input: '0.45' })
  await observe()
  const newest = await current()
  assert.ok((await observations()).length > 4)
  await observe({ observationsMax: newest.length })
  assert.deepEqual(
    (await observations()).map(({ id }) => id),
    newest.map(({ id }) => id),
  )
})

test('concurrent control instances book a change once', async () => {
  serve(listOf({ 'up-one': '0.0000001', 'up-two': '0.0000001', third: '0.0000001' }))
  await Promise.all([observe(), observe(), observe()])
  const names = (await current()).map((one) => `${one.upstream_model} ${one.model}`)
  assert.equal(new Set(names).size, names.length)
  assert.equal((await observations({ model: 'third' })).length, 1)
})
