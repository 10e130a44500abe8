// Goal: a stranger verifies the catalog, its history, a rotation of its signer and the price of a receipt with what
// docs/reference/catalog.md says, and with viem and node:crypto alone.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import { type Hex, verifyMessage } from 'viem'
import { projectRoot } from '../../../control/launch/paths.ts'
import { runCli } from '../../support/cli.ts'
import { chat, completion, type Receipt } from '../../support/clients/chatClient.ts'
import { TEST_CATALOG_KEY } from '../../support/logKey.ts'
import { TEST_BUS_KEY } from '../../support/parts/sealedCalls.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { TestProcess } from '../../support/testProcess.ts'

const NEXT_KEY = `0x${'d1'.repeat(32)}`
const DOCS = readFileSync(join(projectRoot, 'docs/reference/catalog.md'), 'utf8')
const run = promisify(execFile)

interface Keys {
  readonly address: Hex
  readonly ed25519: string
}
interface Signature {
  readonly algorithm: string
  readonly signer: string
  readonly signature: string
}
interface Link extends Keys {
  readonly number: string
  readonly from_version: string
  readonly message: string
  readonly own_signatures: readonly Signature[]
  readonly previous_signatures: readonly Signature[]
}

let stack: Stack
let apiKey: string
let receipt: Receipt
const more: TestProcess[] = []

const priced = (input: string) => ({ models: [{ id: 'test/small', price: { input, output: '3' } }] })

before(async () => {
  stack = await startStack({ catalog: priced('1.5') })
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

const get = (path: string) => fetch(`${stack.baseUrl}${path}`)
const getText = async (path: string) => (await get(path)).text()
// biome-ignore lint/suspicious/noExplicitAny: a stranger has no types
const getJson = async (path: string): Promise<any> => JSON.parse(await getText(path))
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** The code of the first indented block of the documentation that has `word` in it. */
function snippet(word: string): string {
  const blocks = DOCS.split(/\n(?! {4}|\n)/).flatMap((part) => part.match(/(?:^|\n)((?: {4}.*\n|\n)+)/)?.[1] ?? [])
  const block = blocks.find((text) => text.includes(word)) ?? assert.fail(`no block with ${word}`)
  return block.replaceAll(/^ {4}/gm, '')
}

async function isSigned(message: string, signatures: readonly Signature[], { address, ed25519 }: Keys) {
  const [wallet, plain] = ['eip191', 'ed25519'].map((name) => signatures.find((one) => one.algorithm === name))
  assert.deepEqual([wallet?.signer, plain?.signer], [address, ed25519])
  const x = Buffer.from(ed25519, 'hex').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  const byWallet = await verifyMessage({ address, message, signature: wallet?.signature as Hex })
  const byPlain = verify(null, Buffer.from(message), key, Buffer.from(plain?.signature ?? '', 'hex'))
  // Either is wrong for another text.
  assert.equal(await verifyMessage({ address, message: `${message}\n`, signature: wallet?.signature as Hex }), false)
  return byWallet && byPlain
}

async function verifiedCatalog(query: string, chain: readonly Link[]) {
  const text = await getText(`/v1/catalog${query}`)
  const catalog = JSON.parse(text)
  const signature = await getJson(`/v1/catalog/signature?version=${catalog.version}`)
  assert.equal(signature.digest.hex, sha256(text))
  const message = ['sluice-catalog/1', catalog.version, sha256(text)].join('\n')
  assert.equal(signature.message, message)
  const signer = chain.findLast((link) => Number(link.from_version) <= Number(catalog.version)) ?? assert.fail()
  assert.ok(await isSigned(message, signature.signatures, signer))
  assert.deepEqual(catalog.signer, { address: signer.address, ed25519: signer.ed25519 })
  return { text, catalog }
}

/** The chain of signers, once every link holds. */
async function verifiedChain(): Promise<Link[]> {
  const { chain, address } = await getJson('/v1/catalog/signer')
  for (const [place, link] of (chain as Link[]).entries()) {
    const { number, from_version: from } = link
    const before = place === 0 ? '' : sha256(await getText(`/v1/catalog?version=${Number(from) - 1}`))
    const message = ['sluice-catalog-signer/1', number, link.address, link.ed25519, from, before].join('\n')
    assert.equal(link.message, message)
    assert.ok(await isSigned(message, link.own_signatures, link))
    if (place > 0) assert.ok(await isSigned(message, link.previous_signatures, chain[place - 1]))
  }
  assert.equal(address, chain.at(-1).address)
  return chain
}

test('the answers are canonical JSON with their type, and can be read by pages of any origin', async () => {
  const response = await get('/v1/catalog')
  assert.equal(response.status, 200)
  assert.match(response.headers.get('content-type') ?? '', /^application\/json/)
  const text = await response.text()
  assert.equal(text, canonical(JSON.parse(text)))
})

/** As the documentation has it. */
function canonical(value: unknown): string {
  if (Array.isArray(value)) return `[${value.map(canonical).join(',')}]`
  if (typeof value !== 'object' || value === null) return JSON.stringify(value)
  const members = Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))
  return `{${members.map(([name, member]) => `${JSON.stringify(name)}:${canonical(member)}`).join(',')}}`
}

test('signatures, validity and the chain of hashes hold', async () => {
  const chain = await verifiedChain()
  assert.equal(chain.length, 1)
  const { catalog } = await verifiedCatalog('', chain)
  assert.equal(catalog.version, '2')
  const valid = Date.parse(catalog.valid_until) - Date.parse(catalog.valid_from)
  assert.equal(valid, 30 * 86_400_000)
  const first = await verifiedCatalog('?version=1', chain)
  assert.deepEqual(catalog.previous, { version: '1', sha256: sha256(first.text) })
  assert.equal(first.catalog.previous, null)
  const { data, has_more: hasMore } = await getJson('/v1/catalog/versions')
  assert.deepEqual([data.map(({ version }: { version: string }) => version), hasMore], [['2', '1'], false])
  assert.equal(data[1].sha256, sha256(first.text))
  const page = await getJson('/v1/catalog/versions?limit=1&after=2')
  assert.deepEqual(page.data, [data[1]])
})

test('a receipt leads to the catalog that was signed, and its price to the charge', async () => {
  const { catalog } = await verifiedCatalog(`?price_sheet=${receipt.price_sheet}`, await verifiedChain())
  assert.equal(catalog.price_sheet.version, receipt.price_sheet)
  const { price } = catalog.models.find(({ id }: { id: string }) => id === receipt.model)
  assert.deepEqual(price, { input: '1.5', output: '3' })
  const { prompt_tokens: input, completion_tokens: output } = receipt.usage
  // USD per million tokens are thousandths of units of 1e-9 USD per token.
  assert.equal(receipt.cost.units, String(input * 1_500 + output * 3_000))
  const sheet = await getText(`/v1/pricing/sheets/${receipt.price_sheet}`)
  const sheetSha256 = new Function('createHash', `${snippet('sheetSha256')}; return sheetSha256`)(createHash)
  assert.equal(sheetSha256(sheet), catalog.price_sheet.sha256)
})

test('what is not there is said to be so', async () => {
  for (const query of ['?version=999', '?price_sheet=999', '?version=2&price_sheet=1']) {
    const response = await get(`/v1/catalog${query}`)
    assert.equal(response.status, 404, query)
    assert.equal(((await response.json()) as { error: { code: string } }).error.code, 'catalog_not_found')
  }
  for (const query of ['?version=0', '?version=x', '?price_sheet=99999999999', '?other=1']) {
    assert.equal((await get(`/v1/catalog${query}`)).status, 400, query)
  }
})

test('a rotation is verified from the first signer on, and control goes on with the new key alone', async () => {
  const old = await verifiedChain()
  const env = { DATABASE_URL: stack.databaseUrl, REDIS_URL: stack.redis.url, SLUICE_DATA: stack.dir }
  const rotation = await runCli(['catalog', 'rotate-signer', '--json'], {
    ...env,
    SLUICE_CATALOG_KEY: TEST_CATALOG_KEY,
    SLUICE_CATALOG_NEXT_KEY: NEXT_KEY,
  })
  assert.equal(rotation.code, 0, rotation.stderr)
  assert.ok(!`${rotation.stdout}${rotation.stderr}`.includes(NEXT_KEY.slice(2)), 'no secret is printed')
  await until(
    'the answers that are kept are new ones',
    async () => (await getJson('/v1/catalog/signer')).number === '2',
  )
  const chain = await verifiedChain()
  assert.deepEqual(chain[0], old[0])
  await until('the new version is served', async () => (await getJson('/v1/catalog')).version === '3')
  const { catalog } = await verifiedCatalog('', chain)
  assert.deepEqual([catalog.version, catalog.signer.address], ['3', (rotation.json as Keys).address])
  await verifiedCatalog('?version=2', chain)

  await stack.control.stop()
  const control = new TestProcess('control2', 'control/main.js', [], stack.dir, {
    ...env,
    SLUICE_BUS_KEY: TEST_BUS_KEY,
    SLUICE_CATALOG: join(stack.dir, 'catalog.yaml'),
    SLUICE_CATALOG_KEY: NEXT_KEY,
  })
  more.push(control)
  await control.start()
  const { data } = await getJson('/v1/catalog/versions?limit=5')
  assert.equal(data[0].version, '3', 'a start with the same catalog signs nothing')
})

test('the client of the documentation says that all of it holds', async () => {
  const code = snippet("from 'viem'")
  const args = ['--input-type=module', '--eval', code, 'verify-catalog', stack.baseUrl, receipt.request_id]
  // Node gives an evaluated text its arguments from the second place on.
  const { stdout } = await run(process.execPath, args, { cwd: projectRoot })
  const { address } = await getJson('/v1/catalog/signer')
  assert.equal(
    stdout,
    `catalog 3 and all before it hold; signer ${address}\n` +
      `catalog 1, price sheet 1: test/small costs {"input":"1.5","output":"3"}\n`,
  )
})
