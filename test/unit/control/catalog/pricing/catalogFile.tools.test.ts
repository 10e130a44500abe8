// Goal: a tool that the catalog sells is sound: its price at most the margin above its cost, its schema one that
// compiles, its mapping one that can be followed; and its published price does not rise.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import fc from 'fast-check'
import { isWithinMargin, toolUnits } from '../../../../../contract/tools/rates.ts'
import { type Catalog, parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { promiseViolations } from '../../../../../control/catalog/pricing/promise.ts'
import { encodeRecord } from '../../../../../control/catalog/pricing/record.ts'
import { buildSheet } from '../../../../../control/catalog/pricing/sheet.ts'
import { FileError } from '../../../../../control/runtime/files/yamlFile.ts'
import { decodeCatalog } from '../../../../../proxy/catalog/catalog.ts'
import { scrapeTool, searchTool } from '../../../../support/clients/toolClient.ts'
import { testCatalog } from '../../../../support/testCatalog.ts'

const read = (...tools: ReturnType<typeof searchTool>[]) =>
  parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:1/v1', { tools }))

function problemsOf(...tools: ReturnType<typeof searchTool>[]): string {
  try {
    read(...tools)
    return ''
  } catch (error) {
    assert.ok(error instanceof FileError, String(error))
    return error.problems.join('\n')
  }
}

const searchWith = (members: Record<string, unknown>) => searchTool('web.search', 'mock', members)
const upstreamWith = (members: Record<string, unknown>) =>
  searchWith({ upstream: { ...searchTool('x').upstream, ...members } })

test('the tool of the tests is read exactly, and reaches the proxies whole', () => {
  const catalog = read(searchTool('web.search'), scrapeTool('web.scrape', 'mock', { enabled: false }))
  const [search] = catalog.tools
  assert.deepEqual(search?.price, { callUnits: 1_050_000, resultUnits: 210_000, perResult: true })
  assert.deepEqual([search?.retained, search?.limit, search?.resultsMax], [true, 'count', 10])
  const publication = { version: 1, publishedAtMs: 0, validUntilMs: 0, sheetJson: '{}', listedAtMs: new Map() }
  const decoded = decodeCatalog(encodeRecord(catalog, publication), { SLUICE_TEST_PROVIDER_KEY: 'k' })
  const tool = decoded.tools.get('web.search')
  assert.deepEqual([tool?.enabled, tool?.unit, tool?.route.provider.apiKey], [true, 'result', 'k'])
  assert.deepEqual(tool?.places.result, [
    ['title', '/title'],
    ['url', '/link'],
    ['snippet', '/description'],
  ])
  assert.deepEqual(tool?.inputSchema, searchTool('x')['input_schema'])
  assert.equal(decoded.tools.get('web.scrape')?.enabled, false)
  assert.equal(decodeCatalog(encodeRecord(catalog, publication), {}).tools.get('web.search')?.enabled, false)
})

const WRONG: [name: string, tool: ReturnType<typeof searchTool>, problem: RegExp][] = [
  ['a base above the margin', searchWith({ price: { base: '0.001050001', result: '0' } }), /price must be at most 5 %/],
  ['a result above the margin', searchWith({ price: { base: '0', result: '0.000210001' } }), /at most 5 % above cost/],
  ['a price above a free cost', searchWith({ cost: { base: '0', result: '0' } }), /at most 5 %/],
  ['another kind of cost', searchWith({ cost: { call: '1' } }), /same members as cost/],
  ['no cost', searchWith({ cost: undefined }), /cost is missing/],
  ['half a price', searchWith({ price: { base: '0.001' } }), /must be \{ call/],
  ['a number for a price', searchWith({ price: { base: 0.001, result: '0' } }), /decimal string of USD/],
  ['a schema of no object', searchWith({ input_schema: { type: 'string' } }), /type: object/],
  ['a schema that is none', searchWith({ input_schema: { type: 'object', required: 'query' } }), /is no JSON Schema/],
  ['an unknown word', searchWith({ input_schema: { type: 'object', proprieties: {} } }), /is no JSON Schema/],
  ['the member provider', searchWith({ input_schema: { type: 'object', properties: { provider: {} } } }), /provider/],
  ['a limit that is no member', searchWith({ limit: 'number' }), /limit must name a property/],
  ['no bound of results', searchWith({ results_max: undefined, limit: undefined }), /needs results_max/],
  ['too many results', searchWith({ results_max: 1_001 }), /at most 1000/],
  ['a place without a member', upstreamWith({ request: { q: '{text}' } }), /\{text\}/],
  ['a request that is no map', upstreamWith({ request: 'x' }), /must be a map/],
  ['no pointer', upstreamWith({ results: 'web.results' }), /JSON Pointer/],
  ['no results', upstreamWith({ results: undefined, billed: undefined }), /needs results or billed/],
  ['no address', upstreamWith({ base_url: 'ftp://x' }), /http or https/],
  ['a path with a query', upstreamWith({ path: '/search?key=1' }), /must be a path/],
  ['a header that is none', upstreamWith({ key_header: 'x key' }), /header name/],
  ['an unknown key', upstreamWith({ key: 'secret' }), /not a known key/],
  ['no opinion on data', searchWith({ data_policy: undefined }), /data_policy is missing/],
  ['an id with a slash', searchTool('web/search'), /must be a tool id/],
]
for (const [name, tool, problem] of WRONG) {
  test(`a catalog is rejected for ${name}`, () => assert.match(problemsOf(tool), problem))
}

test('two tools may not share an id', () => {
  assert.match(problemsOf(searchTool('web.search'), scrapeTool('web.search')), /repeats the id "web.search"/)
})

test('property: a price within the margin charges at most 5 % above cost, for any number of results', () => {
  const units = fc.integer({ min: 0, max: 10 ** 9 })
  fc.assert(
    fc.property(units, units, fc.nat(105), fc.nat(1_000), (call, result, percent, results) => {
      const priced = (cost: number) => Math.floor((cost * percent) / 100)
      const price = { callUnits: priced(call), resultUnits: priced(result) }
      assert.ok(isWithinMargin(price.callUnits, call) && isWithinMargin(price.resultUnits, result))
      const cost = toolUnits({ callUnits: call, resultUnits: result }, results)
      assert.ok(BigInt(toolUnits(price, results)) * 100n <= BigInt(cost) * 105n)
      assert.ok(!isWithinMargin(Math.floor((call * 105) / 100) + 1, call))
    }),
  )
})

test('a published price of a tool may fall but not rise, and free results must stay free', () => {
  const sheetOf = (catalog: Catalog) => [buildSheet(catalog, 7, Date.now() + 1_000)]
  const priced = (base: string, result: string) =>
    read(searchWith({ price: { base, result }, cost: { base: '1', result: '1' } }))
  const flat = (call: string) => read(scrapeTool('web.search', 'mock', { price: { call }, cost: { call: '1' } }))
  const keys = (before: Catalog, after: Catalog) => promiseViolations(after, sheetOf(before)).map(({ key }) => key)
  assert.deepEqual(keys(priced('0.2', '0.1'), priced('0.2', '0.1')), [])
  assert.deepEqual(keys(priced('0.2', '0.1'), priced('0.1', '0')), [])
  assert.deepEqual(keys(priced('0.2', '0.1'), priced('0.3', '0.2')), ['price.base', 'price.result'])
  assert.deepEqual(keys(flat('0.2'), priced('0.2', '0.1')), ['price.result'])
  assert.deepEqual(keys(priced('0.2', '0.1'), flat('0.3')), ['price.call'])
})

test('a catalog without tools has a sheet without them, so its version does not change', () => {
  assert.ok(!('tools' in buildSheet(read(), 1, 0)))
})
