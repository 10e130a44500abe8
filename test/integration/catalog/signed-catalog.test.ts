// Goal: every change of what is sold is signed as a new version, once, by the signer of the book; nothing private is shown.
import assert from 'node:assert/strict'
import { createHash, createPublicKey, verify } from 'node:crypto'
import { after, before, test } from 'node:test'
import { type Hex, verifyMessage } from 'viem'
import { checkCatalogs } from '../../../control/audit/catalogChecks.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { renewPromise } from '../../../control/catalog/pricing/renewPromise.ts'
import { disableRoute, enableRoute } from '../../../control/catalog/pricing/routeSwitches.ts'
import { latestSheet } from '../../../control/catalog/pricing/sheetStore.ts'
import { CatalogKey, generateCatalogKey } from '../../../control/catalog/signing/catalogKey.ts'
import { chosenCatalog, signatureJson, signersJson } from '../../../control/catalog/signing/catalogReads.ts'
import { listCatalogs } from '../../../control/catalog/signing/catalogStore.ts'
import { rotateSigner } from '../../../control/catalog/signing/rotateSigner.ts'
import { signCatalog, signingWith } from '../../../control/catalog/signing/signCatalog.ts'
import { GATEWAY_WIDE, listActivity, OPERATOR } from '../../../control/runtime/activity/activity.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { limits } from '../../support/limits.ts'
import { freshDatabase } from '../../support/services.ts'
import { type TestCatalogOptions, testCatalog } from '../../support/testCatalog.ts'

const DAY_MS = 86_400_000
const START = Date.UTC(2026, 0, 1)
const PRIVATE_URL = 'http://inner.example.com:9100/v1'
const key = CatalogKey.of(`0x${'11'.repeat(32)}`)
const next = CatalogKey.of(`0x${'22'.repeat(32)}`)

let pool: Pool

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
})
after(() => pool.end())

function catalogOf(input: string, more: TestCatalogOptions = {}) {
  const routes = [
    { provider: 'mock', model: 'inner-name', cost: { input: '0.123456789', output: '0.2' } },
    { provider: 'mock', model: 'other-name' },
  ]
  const models = [{ id: 'test/small', price: { input, output: '2' }, routes }]
  return parseCatalog('catalog.yaml', testCatalog(PRIVATE_URL, { models, ...more }))
}

const publish = (input: string, nowMs: number, by = key) =>
  publishCatalog(pool, catalogOf(input), limits, nowMs, { sign: signingWith(by, limits) })
const sign = (nowMs: number, by = key) => withTransaction(pool, (client) => signCatalog(client, by, limits, nowMs))
const chosen = (version?: number, priceSheet?: number) => chosenCatalog(pool, { version, priceSheet })
const sha256 = (text: string) => createHash('sha256').update(text).digest('hex')

/** A catalog's JSON, once its hash and both signatures hold. */
async function verified(version?: number) {
  const catalog = await chosen(version)
  const signature = await signatureJson(pool, catalog)
  const [eip191, ed25519] = signature.signatures
  assert.equal(sha256(catalog.text), signature.digest.hex)
  assert.equal(signature.message, `sluice-catalog/1\n${signature.version}\n${signature.digest.hex}`)
  assert.ok(eip191 && ed25519)
  const [address, hex] = [eip191.signer as Hex, eip191.signature as Hex]
  assert.ok(await verifyMessage({ address, message: signature.message, signature: hex }))
  const jwk = { kty: 'OKP', crv: 'Ed25519', x: Buffer.from(ed25519.signer, 'hex').toString('base64url') }
  const publicKey = createPublicKey({ key: jwk, format: 'jwk' })
  assert.ok(verify(null, Buffer.from(signature.message), publicKey, Buffer.from(ed25519.signature, 'hex')))
  const json = JSON.parse(catalog.text)
  assert.deepEqual(json.signer, { address: eip191.signer, ed25519: ed25519.signer })
  return json
}

test('before the first signature the routes return catalog_unsigned', async () => {
  await publishCatalog(pool, catalogOf('5'), limits, START)
  await assert.rejects(chosen(), { row: 'catalog_unsigned' })
  await assert.rejects(signersJson(pool), { row: 'catalog_unsigned' })
  await assert.rejects(
    withTransaction(pool, (client) => rotateSigner(client, key, next, limits, START)),
    /no catalog is signed yet/,
  )
})

test('a catalog is signed on publication, binds earlier sheets, and contains no private field', async () => {
  const { signing } = await publish('4', START + DAY_MS)
  assert.deepEqual(signing, { state: 'signed', version: 1 })
  const json = await verified()
  assert.deepEqual([json.version, json.previous, json.price_sheet.version], ['1', null, '2'])
  assert.deepEqual(
    json.earlier_price_sheets.map(({ version }: { version: string }) => version),
    ['1'],
  )
  assert.deepEqual([json.valid_from, json.valid_until], ['2026-01-02T00:00:00.000Z', '2026-02-01T00:00:00.000Z'])
  const { text } = await chosen()
  for (const secret of ['inner', 'other-name', '9100', 'SLUICE_TEST_PROVIDER_KEY', '0.123456789', 'cost']) {
    assert.ok(!text.includes(secret), secret)
  }
  assert.deepEqual(json.models, [
    {
      id: 'test/small',
      name: 'test/small',
      owned_by: 'test',
      modality: 'chat',
      unit: 'million_tokens',
      endpoints: ['chat', 'messages'],
      context: 128_000,
      max_output: 16_384,
      price: { input: '4', output: '2' },
      attested: false,
      available: true,
      routes: [
        { provider: 'mock', enabled: true, data_policy: 'none' },
        { provider: 'mock', enabled: true, data_policy: 'none' },
      ],
    },
  ])
})

test('the same catalog again, and a renewal of the promise, make no new version', async () => {
  assert.deepEqual((await publish('4.00', START + 2 * DAY_MS)).signing, { state: 'unchanged' })
  assert.ok((await renewPromise(pool, START + 3 * DAY_MS)) !== undefined)
  assert.deepEqual(await sign(START + 3 * DAY_MS), { state: 'unchanged' })
  // An address that only the operator knows is no change either.
  const moved = parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:2/v1', modelsAt('4')))
  const { isNewRecord, signing } = await publishCatalog(pool, moved, limits, START + 4 * DAY_MS, {
    sign: signingWith(key, limits),
  })
  assert.deepEqual([isNewRecord, signing], [true, { state: 'unchanged' }])
})

const modelsAt = (input: string): TestCatalogOptions => ({
  models: [
    {
      id: 'test/small',
      price: { input, output: '2' },
      routes: [
        { provider: 'mock', model: 'a' },
        { provider: 'mock', model: 'b' },
      ],
    },
  ],
})

test('a catalog is signed again after half of its validity', async () => {
  assert.deepEqual(await sign(START + 16 * DAY_MS - 1), { state: 'unchanged' })
  assert.deepEqual(await sign(START + 16 * DAY_MS), { state: 'signed', version: 2 })
  const [first, second] = [await chosen(1), await verified(2)]
  assert.deepEqual(second.previous, { version: '1', sha256: sha256(first.text) })
  assert.equal(second.valid_until, new Date(START + 46 * DAY_MS).toISOString())
  // The renewed promise is signed with it.
  assert.equal(second.rate_lock.valid_until, new Date(START + 33 * DAY_MS).toISOString())
  assert.deepEqual(second.earlier_price_sheets, [])
})

test('a route disabled by the operator is signed as disabled, and as enabled again', async () => {
  await publish('4', START + 17 * DAY_MS)
  const change = (work: typeof enableRoute | typeof disableRoute, nowMs: number) =>
    withTransaction(pool, async (client) => {
      if (work === disableRoute) await disableRoute(client, OPERATOR, 'mock/*', 'a test', limits)
      else await enableRoute(client, OPERATOR, 'mock/*', limits)
      return signCatalog(client, key, limits, nowMs)
    })
  assert.deepEqual(await change(disableRoute, START + 17 * DAY_MS), { state: 'signed', version: 3 })
  const off = await verified()
  assert.deepEqual([off.models[0].available, off.models[0].routes[0].enabled], [false, false])
  assert.deepEqual(await change(enableRoute, START + 18 * DAY_MS), { state: 'signed', version: 4 })
  assert.equal((await verified()).models[0].available, true)
})

test('concurrent publications are signed one after the other', async () => {
  const prices = ['3.9', '3.8', '3.7', '3.6']
  await Promise.allSettled(prices.map((price) => publish(price, START + 19 * DAY_MS)))
  const signed = await listCatalogs(pool, 100, 1_000)
  assert.ok(signed.length > 4)
  for (const { version } of signed.toReversed().slice(1)) {
    const { previous } = await verified(version)
    assert.deepEqual(previous, { version: String(version - 1), sha256: (await chosen(version - 1)).digest })
  }
  await publish('3.5', START + 19 * DAY_MS)
})

test('a publication that fails after signing leaves no rows, and each catalog is signed for its own record', async () => {
  const [before, sheet] = [await chosen(), await latestSheet(pool)]
  const sign = signingWith(key, limits) ?? assert.fail()
  await assert.rejects(
    publishCatalog(pool, catalogOf('3.45'), limits, START + 19 * DAY_MS, {
      sign: async (client, nowMs) => {
        assert.equal((await sign(client, nowMs)).state, 'signed')
        throw new Error('the connection is lost')
      },
    }),
    /the connection is lost/,
  )
  assert.deepEqual([await chosen(), await latestSheet(pool)], [before, sheet])
  // The same signer is asked again and again, as by control.
  for (const input of ['3.44', '3.43']) {
    await publishCatalog(pool, catalogOf(input), limits, START + 19 * DAY_MS, { sign })
    assert.equal((await verified()).models[0].price.input, input)
  }
})

test('a price sheet references the first catalog that binds it', async () => {
  assert.equal((await chosen(undefined, 1)).version, 1)
  assert.equal((await chosen(undefined, 2)).version, 1)
  const { sheetVersion, version } = await chosen()
  assert.equal((await chosen(undefined, sheetVersion)).version, version)
  assert.equal((await chosen(1, 2)).version, 1)
  for (const [one, sheet] of [[999], [undefined, 999], [2, 2]]) {
    await assert.rejects(chosen(one, sheet), { row: 'catalog_not_found' })
  }
})

test('a key without a rotation record signs no catalog', async () => {
  const stranger = CatalogKey.of(generateCatalogKey())
  const { version } = await chosen()
  const refused = { state: 'other_signer', signer: key.keys.address, key: stranger.keys.address }
  assert.deepEqual(await sign(START + 300 * DAY_MS, stranger), refused)
  assert.deepEqual((await publish('3.4', START + 20 * DAY_MS, stranger)).signing, refused)
  assert.equal((await chosen()).version, version)
  // The signer signs what was published meanwhile.
  assert.deepEqual(await sign(START + 20 * DAY_MS), { state: 'signed', version: version + 1 })
})

test('a rotation is signed by both keys, and old versions stay unchanged', async () => {
  const rotate = (from: CatalogKey, to: CatalogKey) =>
    withTransaction(pool, (client) => rotateSigner(client, from, to, limits, START + 21 * DAY_MS))
  const last = await chosen()
  await assert.rejects(rotate(next, key), /are signed by 0x[0-9a-f]{40}, and the present key is/)
  const { fromVersion } = await rotate(key, next)
  assert.equal(fromVersion, last.version + 1)
  const { chain, ...current } = await signersJson(pool)
  assert.deepEqual([current.number, current.address], ['2', next.keys.address])
  const [, link] = chain
  const { address, ed25519 } = next.keys
  assert.equal(link?.message, ['sluice-catalog-signer/1', 2, address, ed25519, fromVersion, last.digest].join('\n'))
  for (const [by, signatures] of [
    [key, link?.previous_signatures],
    [next, link?.own_signatures],
  ] as const) {
    assert.deepEqual(
      signatures?.map(({ signer }) => signer),
      [by.keys.address, by.keys.ed25519],
    )
    const [eip191] = signatures ?? []
    const signature = eip191?.signature as Hex
    assert.ok(await verifyMessage({ address: by.keys.address, message: link?.message ?? '', signature }))
  }
  assert.deepEqual((await verified(last.version)).signer, key.keys)
  assert.deepEqual((await verified()).signer, next.keys)
  assert.deepEqual(await sign(START + 21 * DAY_MS), {
    state: 'other_signer',
    signer: next.keys.address,
    key: key.keys.address,
  })
  await assert.rejects(rotate(next, key), /a key does not come back/)
  const [entry] = await listActivity(pool, GATEWAY_WIDE, 10, '')
  assert.deepEqual([entry?.type, entry?.target], ['catalog.signer_rotated', next.keys.address])
})

const CHAINED = 'signed catalogs name their predecessors'
const SIGNED = 'catalogs are signed by the signers of their time'
const NAMED = 'signers are named by those before them'
/** A change behind the gateway's back, and the checks that find it. */
const TAMPERINGS: [change: string, found: string[]][] = [
  ['UPDATE signed_catalogs SET catalog = replace(catalog, \'"4"\', \'"1"\') WHERE version = 2', [CHAINED, SIGNED]],
  ['DELETE FROM signed_catalogs WHERE version = 3', [CHAINED]],
  ['UPDATE signed_catalogs SET digest = repeat($$0$$, 64) WHERE version = 1', [CHAINED]],
  ["UPDATE signed_catalogs SET eip191 = '0x00' WHERE version = 2", [SIGNED]],
  [
    'UPDATE signed_catalogs SET ed25519 = (SELECT ed25519 FROM signed_catalogs WHERE version = 1) WHERE version = 2',
    [SIGNED],
  ],
  ['UPDATE signed_catalogs SET signer = 2 WHERE version = 2', [SIGNED]],
  ['UPDATE catalog_signers SET previous_eip191 = own_eip191 WHERE number = 2', [NAMED]],
  ['UPDATE catalog_signers SET own_ed25519 = previous_ed25519 WHERE number = 2', [NAMED]],
]

test('the audit follows the chain, and detects each change of it', async () => {
  const client = await pool.connect()
  const failed = async () => (await checkCatalogs(client)).filter(({ ok }) => !ok).map(({ name }) => name)
  try {
    assert.deepEqual(await failed(), [])
    for (const [change, found] of TAMPERINGS) {
      await client.query('BEGIN')
      for (const table of ['signed_catalogs', 'catalog_signers']) {
        await client.query(`ALTER TABLE ${table} DISABLE TRIGGER USER`)
      }
      assert.equal((await client.query(change)).rowCount, 1, change)
      for (const name of found) assert.ok((await failed()).includes(name), `${change}: ${name}`)
      await client.query('ROLLBACK')
    }
    assert.deepEqual(await failed(), [])
  } finally {
    client.release()
  }
})

test('signed catalogs and signers cannot be changed', async () => {
  for (const table of ['signed_catalogs', 'catalog_signers']) {
    await assert.rejects(pool.query(`DELETE FROM ${table}`), /append only/)
  }
})
