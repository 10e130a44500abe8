// Goal: a stranger verifies the catalog, its history, a rotation of its signer and the price of a receipt with what
// docs/reference/catalog.md says, and with viem and node:crypto alone.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { readFileSync, statSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { CatalogKey } from '../../../control/catalog/signing/catalogKey.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { callCli } from '../../support/cli.ts'
import {
  CatalogClient,
  type CatalogJson,
  canonical,
  type Keys,
  type ListJson,
  type SignerJson,
  sha256,
} from '../../support/clients/catalogClient.ts'
import { chat, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { TEST_CATALOG_KEY } from '../../support/logKey.ts'
import { TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'
import { testCatalog } from '../../support/testCatalog.ts'
import { TestProcess } from '../../support/testProcess.ts'

const LIST = 'prices.json'
const NEXT_KEY = `0x${'d1'.repeat(32)}`
const DOCS = readFileSync(join(projectRoot, 'docs/reference/catalog.md'), 'utf8')
const run = promisify(execFile)

interface Observation {
  readonly id: string
  readonly observed_at: string
  readonly last_seen_at: string
  readonly price_sheet: string
  readonly upstream_model: string
}

let stack: Stack
let apiKey: string
let receipt: Receipt
const more: TestProcess[] = []

/** With a list of prices in a file beside it. */
const priced = (input: string) => (url: string) => {
  const models = [{ id: 'test/small', price: { input, output: '3' } }]
  return JSON.stringify({
    ...JSON.parse(testCatalog(url, { models })),
    price_lists: [{ provider: 'mock', file: LIST }],
  })
}

before(async () => {
  stack = await startStack({ catalog: priced('1.5'), limits: { observeMs: 200, apiRequestBurst: 10_000 } })
  ;({ apiKey } = await stack.createAccount())
  receipt = completion(await chat(stack.baseUrl, apiKey, { model: 'test/small' })).receipt
  stack.writeCatalog(priced('1.25'))
  const published = await stack.cli('catalog', 'publish', join(stack.dir, 'catalog.yaml'))
  assert.equal(published.code, 0, published.stderr)
})
after(async () => {
  try {
    await stack.settled()
    await stack.audit()
  } finally {
    for (const process of more) await process.stop()
    await stack.stop()
  }
})

const client = new CatalogClient(() => stack.baseUrl)
const get = (path: string) => client.get(path)
const number = async () => (await client.json<SignerJson>('/v1/catalog/signer')).number
const versions = (query = '') =>
  client.json<ListJson<{ version: string; sha256: string }>>(`/v1/catalog/versions${query}`)
const observations = (query = '') => client.json<ListJson<Observation>>(`/v1/pricing/observations${query}`)

/** The code of the first indented block of the documentation that has `word` in it. */
function snippet(word: string): string {
  const blocks = DOCS.split(/\n(?! {4}|\n)/).flatMap((part) => part.match(/(?:^|\n)((?: {4}.*\n|\n)+)/)?.[1] ?? [])
  const block = blocks.find((text) => text.includes(word)) ?? assert.fail(`no block with ${word}`)
  return block.replaceAll(/^ {4}/gm, '')
}

test('the catalog is canonical JSON', async () => {
  const response = await get('/v1/catalog')
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const text = await response.text()
  assert.equal(text, canonical(JSON.parse(text)))
})

test('signatures, validity and the chain of hashes hold', async () => {
  const chain = await client.chain()
  assert.equal(chain.length, 1)
  const { catalog } = await client.catalog('', chain)
  assert.equal(catalog.version, '2')
  const valid = Date.parse(catalog.valid_until) - Date.parse(catalog.valid_from)
  assert.equal(valid, 30 * 86_400_000)
  const first = await client.catalog('?version=1', chain)
  assert.deepEqual(catalog.previous, { version: '1', sha256: sha256(first.text) })
  assert.equal(first.catalog.previous, null)
  const { data, has_more: hasMore } = await versions()
  assert.deepEqual([data.map(({ version }) => version), hasMore], [['2', '1'], false])
  assert.equal(data[1]?.sha256, sha256(first.text))
  const page = await versions('?limit=1&after=2')
  assert.deepEqual(page.data, [data[1]])
})

test('a receipt leads to the catalog that was signed, and its price to the charge', async () => {
  const { catalog } = await client.catalog(`?price_sheet=${receipt.price_sheet}`, await client.chain())
  assert.equal(catalog.price_sheet.version, receipt.price_sheet)
  const sold = catalog.models.find(({ id }) => id === receipt.model)
  assert.deepEqual(sold?.price, { input: '1.5', output: '3' })
  const { prompt_tokens: input, completion_tokens: output } = receipt.usage
  // USD per million tokens are thousandths of units of 1e-9 USD per token.
  assert.equal(receipt.cost.units, String(input * 1_500 + output * 3_000))
  const sheet = await client.text(`/v1/pricing/sheets/${receipt.price_sheet}`)
  const sheetSha256 = new Function('createHash', `${snippet('sheetSha256')}; return sheetSha256`)(createHash)
  assert.equal(sheetSha256(sheet), catalog.price_sheet.sha256)
})

test('an unknown catalog version returns its error', async () => {
  for (const query of ['?version=999', '?price_sheet=999', '?version=2&price_sheet=1']) {
    const response = await get(`/v1/catalog${query}`)
    assert.equal(response.status, 404, query)
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'catalog_not_found')
  }
  for (const query of ['?version=0', '?version=x', '?price_sheet=99999999999', '?other=1']) {
    assert.equal((await get(`/v1/catalog${query}`)).status, 400, query)
  }
})

test('list prices can be filtered and paginated, and a metric counts those above the sold price', async () => {
  const metric = async (name: string) => {
    const text = await (await fetch(stack.controlMetricsUrl)).text()
    return Number(new RegExp(`^sluice_control_${name} (\\d+)$`, 'm').exec(text)?.[1])
  }
  await until('a list that is not there is counted', async () => (await metric('price_list_failures_total')) > 0)
  assert.deepEqual(await observations(), { object: 'list', data: [], has_more: false })
  const pricing = { prompt: '0.0000014', completion: '0.000001' }
  const list = JSON.stringify({
    data: [
      { id: 'chat-small', pricing },
      { id: 'chat-large', pricing },
    ],
  })
  writeFileSync(join(stack.dir, LIST), list)
  await until('the list is read', async () => (await metric('prices_above_sold')) === 1)
  const { data } = await observations('?model=test/small&provider=mock&from=2026-01-01T00:00:00Z')
  const { id, observed_at, last_seen_at, price_sheet, ...rest } = data[0] ?? assert.fail()
  assert.match(id, /^obs_/)
  assert.ok(Date.parse(observed_at) <= Date.parse(last_seen_at))
  assert.equal(price_sheet, '2')
  assert.deepEqual(rest, {
    object: 'price_observation',
    provider: 'mock',
    source: null,
    sha256: sha256(list),
    last_sha256: sha256(list),
    current: true,
    upstream_model: 'chat-small',
    model: 'test/small',
    price: { input: '1.4', output: '1' },
    sold: { input: '1.25', output: '3' },
    difference: { input: '-0.15', output: '2' },
    above_sold: true,
  })
  await until('it is logged', () => stack.logs().includes('"event":"price_above_sold"'))
  const first = await observations('?limit=1')
  const second = await observations(`?limit=1&after=${first.data[0]?.id}`)
  assert.deepEqual([first.has_more, second.has_more], [true, false])
  assert.deepEqual(
    new Set([first, second].map((page) => page.data[0]?.upstream_model)),
    new Set(['chat-small', 'chat-large']),
  )
  for (const query of ['?from=yesterday', '?to=2026-02-30T00:00:00Z', '?limit=0', '?after=x', '?vendor=mock']) {
    assert.equal((await get(`/v1/pricing/observations${query}`)).status, 400, query)
  }
})

test('a rotation is verified from the first signer on, and control continues with only the new key', async () => {
  const old = await client.chain()
  const env = { DATABASE_URL: stack.databaseUrl, REDIS_URL: stack.redis.url, SLUICE_DATA: stack.dir }
  const rotation = await callCli(['catalog', 'rotate-signer', '--json'], {
    ...env,
    SLUICE_CATALOG_KEY: TEST_CATALOG_KEY,
    SLUICE_CATALOG_NEXT_KEY: NEXT_KEY,
  })
  assert.equal(rotation.code, 0, rotation.stderr)
  assert.ok(!`${rotation.stdout}${rotation.stderr}`.includes(NEXT_KEY.slice(2)), 'no secret is printed')
  await until('the answers that are kept are new ones', async () => (await number()) === '2')
  const chain = await client.chain()
  assert.deepEqual(chain[0], old[0])
  await until('the new version is served', async () => (await client.json<CatalogJson>('/v1/catalog')).version === '3')
  const { catalog } = await client.catalog('', chain)
  assert.deepEqual([catalog.version, catalog.signer.address], ['3', (rotation.json as Keys).address])
  await client.catalog('?version=2', chain)

  await stack.control.stop()
  const control = new TestProcess('control2', 'control/main.js', [], stack.dir, {
    ...env,
    SLUICE_BUS_KEY: TEST_BUS_KEY,
    SLUICE_CATALOG: join(stack.dir, 'catalog.yaml'),
    SLUICE_CATALOG_KEY: NEXT_KEY,
  })
  more.push(control)
  await control.start()
  const { data } = await versions('?limit=5')
  assert.equal(data[0]?.version, '3', 'a start with the same catalog signs nothing')
})

test('the client from the documentation verifies every step', async () => {
  const code = snippet("from 'viem'")
  const args = ['--input-type=module', '--eval', code, 'verify-catalog', stack.baseUrl, receipt.request_id]
  // Node gives an evaluated text its arguments from the second place on.
  const { stdout } = await run(process.execPath, args, { cwd: projectRoot })
  const { address } = await client.json<SignerJson>('/v1/catalog/signer')
  assert.equal(
    stdout,
    `catalog 3 and all before it hold; signer ${address}\n` +
      `catalog 1, price sheet 1: test/small costs {"input":"1.5","output":"3"}\n`,
  )
})

test('the command creates the next key where `make run` stores it, also after an interruption', async () => {
  const folder = makeTempDir('signer')
  try {
    const run = { database_url: stack.databaseUrl, redis_url: stack.redis.url }
    writeFileSync(join(folder, 'run.json'), JSON.stringify(run))
    writeFileSync(join(folder, 'catalog.key'), `${NEXT_KEY}\n`)
    const env = { SLUICE_DATA: folder, DATABASE_URL: '', REDIS_URL: '', SLUICE_CATALOG_KEY: '' }
    const rotate = async () => {
      const { code, json, stderr } = await callCli(['catalog', 'rotate-signer', '--json'], env)
      assert.equal(code, 0, stderr)
      return json as { number: string; address: string }
    }
    const third = await rotate()
    const secret = readFileSync(join(folder, 'catalog.key'), 'utf8')
    assert.deepEqual([third.number, CatalogKey.of(secret.trim()).keys.address], ['3', third.address])
    assert.equal(statSync(join(folder, 'catalog.key')).mode & 0o777, 0o600)
    // It was killed after the rotation, and before the new key took its place.
    writeFileSync(join(folder, 'catalog.next.key'), secret)
    writeFileSync(join(folder, 'catalog.key'), `${NEXT_KEY}\n`)
    assert.deepEqual(await rotate(), third)
    assert.equal(readFileSync(join(folder, 'catalog.key'), 'utf8'), secret)
    await until('the new signer is served', async () => (await number()) === '3')
    assert.equal((await client.chain()).length, 3)
    const none = await callCli(['catalog', 'rotate-signer'], { ...env, SLUICE_DATA: stack.dir })
    assert.deepEqual([none.code, none.stdout], [1, ''])
    assert.match(none.stderr, /the key that signs the catalog is not known: set SLUICE_CATALOG_KEY/)
  } finally {
    removeTempDir(folder)
  }
})
