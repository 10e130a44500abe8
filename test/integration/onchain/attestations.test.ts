// Goal: an attestation is of one moment of the book, whole or not there at all; every account can prove that it is counted,
// and whoever is left out or changed is noticed. Method: a real database without a chain, the sluice-verify package, and
// the audit.
import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import test, { after, before } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { type Hex, verifyMessage } from 'viem'
import type { ApiCall } from '../../../control/api/call.ts'
import { checkAttestations } from '../../../control/audit/reserveChecks.ts'
import { inSnapshot } from '../../../control/audit/snapshot.ts'
import { creditCoin } from '../../../control/book/ledger/creditCoin.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { CatalogKey } from '../../../control/catalog/signing/catalogKey.ts'
import { signingWith } from '../../../control/catalog/signing/signCatalog.ts'
import { attestationKeeper } from '../../../control/products/reserve/attestationKeeper.ts'
import { lastAttestation, requestAttestation } from '../../../control/products/reserve/attestationStore.ts'
import { makeAttestation } from '../../../control/products/reserve/makeAttestation.ts'
import { reserveHandlers } from '../../../control/products/reserve/reserveHandlers.ts'
import { liabilitySecret, saltedAccounts, saltKey, saltOf } from '../../../control/products/reserve/salts.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool, withTransaction } from '../../../control/runtime/db/pool.ts'
import { type AttestationEvidence, verifyAttestation } from '../../../verifier/verify.ts'
import { limits, limitsWith } from '../../support/limits.ts'
import { log, newAccount, until } from '../../support/parts/ledger.ts'
import { freshDatabase } from '../../support/services.ts'
import { makeTempDir, removeTempDir } from '../../support/tempDir.ts'
import { testCatalog } from '../../support/testCatalog.ts'

const VERIFIER = fileURLToPath(new URL('../../../verifier/bin.js', import.meta.url))
const ACCOUNTS = 300
const key = CatalogKey.of(`0x${'11'.repeat(32)}`)
const dir = makeTempDir('attestations')
let pool: Pool
let accounts: string[]

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
  const catalog = parseCatalog('catalog.yaml', testCatalog('http://127.0.0.1:9/v1', { coinUsd: '0.5' }))
  await publishCatalog(pool, catalog, limits, Date.now(), { sign: signingWith(key, limits) })
  accounts = []
  for (let at = 0; at < ACCOUNTS; at++) accounts.push(await newAccount(pool, at * 1_000_003))
})
after(async () => {
  await pool.end()
  removeTempDir(dir)
})

/** On a machine that stands still, transfers beside it may take longer than an attestation waits for a moment without one. */
const PATIENT = { attestationLockMs: 30_000 }
const attest = (by = key, changes = {}) =>
  makeAttestation({ pool, key: by, chain: undefined, limits: limitsWith({ ...PATIENT, ...changes }) }, 'schedule')

async function read<T = Record<string, unknown>>(operation: string, call: Partial<ApiCall> = {}): Promise<T> {
  const handlers = reserveHandlers(pool, limits)
  const handler = handlers[operation as keyof typeof handlers]
  const whole = { params: {}, query: {}, body: {}, caller: { kind: 'nobody' }, accountId: '', ...call }
  return (await handler.read(whole as ApiCall)).json as T
}

interface Shown {
  readonly number: string
  readonly sha256: string
  readonly message: string
  readonly statement: string
  readonly signatures: ReadonlyArray<{ algorithm: string; signer: string; signature: string }>
  readonly liabilities: { readonly leaves: number; readonly sum_nanos: string }
  readonly reserve: { readonly owed: ReadonlyArray<{ class: string; accounts: number; amount: string }> }
}
const latest = () => read<Shown>('get_latest_attestation')
const liability = (accountId: string) =>
  read<{ leaf: string; salt: string; position: number; amount_nanos: string }>('get_liability', { accountId })
const steps = async (evidence: AttestationEvidence) => (await verifyAttestation(evidence)).steps
const failedSteps = async (evidence: AttestationEvidence) =>
  (await steps(evidence)).filter(({ result }) => result === 'failed').map(({ name }) => name)

async function auditFaults(): Promise<string[]> {
  const checks = await inSnapshot(pool, (client) => checkAttestations(client, limits))
  return checks.filter(({ ok }) => !ok).map(({ name, detail }) => `${name}: ${detail}`)
}

test('before the first attestation the routes return attestation_not_found', async () => {
  await assert.rejects(latest(), { row: 'attestation_not_found' })
  await assert.rejects(liability(accounts[0] ?? ''), { row: 'attestation_not_found' })
  await assert.rejects(read('get_attestation', { params: { number: '1' } }), { row: 'attestation_not_found' })
})

test('the sum of all leaves equals the attested total and the ledger; every account proves its own leaf', async () => {
  await attest()
  const shown = await latest()
  const attestation = JSON.stringify(shown)
  const { rows } = await pool.query<{ sum: string }>(
    `SELECT sum(balance)::text AS sum FROM ledger_accounts WHERE currency = 'coin'`,
  )
  assert.equal(shown.liabilities.sum_nanos, rows[0]?.sum)
  assert.equal(shown.reserve.owed.find((row) => row.class === 'customer_coin')?.accounts, ACCOUNTS)
  let sum = 0n
  for (const [at, accountId] of accounts.entries()) {
    const proof = await liability(accountId)
    sum += BigInt(proof.amount_nanos)
    assert.equal(proof.amount_nanos, String(at * 1_000_003))
    if (at % 10 !== 0) continue
    const evidence = { attestation, signer: key.keys.ed25519, liability: JSON.stringify(proof) }
    assert.deepEqual(await failedSteps(evidence), [], accountId)
  }
  assert.equal(sum.toString(), shown.liabilities.sum_nanos)
  const [eip191] = shown.signatures
  assert.ok(eip191)
  const { message } = shown
  assert.ok(await verifyMessage({ address: key.keys.address as Hex, message, signature: eip191.signature as Hex }))
  assert.deepEqual(await auditFaults(), [])
})

test('a sub-key cannot read the liability of its account', async () => {
  const caller = { kind: 'key', isSubKey: true } as ApiCall['caller']
  await assert.rejects(read('get_liability', { accountId: accounts[0] ?? '', caller }), { row: 'permission_denied' })
})

test('any changed byte of the attestation, or of a proof, is rejected', async () => {
  const shown = await latest()
  const proof = await liability(accounts[7] ?? '')
  const evidence = { attestation: JSON.stringify(shown), signer: key.keys.ed25519, liability: JSON.stringify(proof) }
  for (let at = 0; at < shown.statement.length; at += 37) {
    const code = shown.statement.charCodeAt(at) === 48 ? '1' : '0'
    const statement = `${shown.statement.slice(0, at)}${code}${shown.statement.slice(at + 1)}`
    assert.deepEqual(await failedSteps({ ...evidence, attestation: JSON.stringify({ ...shown, statement }) }), [
      'statement',
    ])
  }
  const other = CatalogKey.of(`0x${'22'.repeat(32)}`)
  const forged = await other.sign(shown.message)
  const signatures = [{ algorithm: 'ed25519', signer: other.keys.ed25519, signature: forged.ed25519 }]
  const rows: Array<[step: string, evidence: AttestationEvidence]> = [
    ['signature', { ...evidence, attestation: JSON.stringify({ ...shown, signatures }) }],
    ['signer', { ...evidence, signer: other.keys.ed25519 }],
    [
      'statement',
      { ...evidence, attestation: JSON.stringify({ ...shown, reserve: { ...shown.reserve, owed_usd: '0' } }) },
    ],
    ['leaf', { ...evidence, liability: JSON.stringify({ ...proof, amount_nanos: '1' }) }],
    ['leaf', { ...evidence, liability: JSON.stringify({ ...proof, salt: 'ab'.repeat(32) }) }],
    ['path', { ...evidence, liability: JSON.stringify({ ...proof, position: proof.position ^ 1 }) }],
    [
      'liability',
      { ...evidence, liability: JSON.stringify({ ...proof, attestation: { number: '2', sha256: shown.sha256 } }) },
    ],
  ]
  for (const [step, changed] of rows) assert.ok((await failedSteps(changed)).includes(step), step)
})

test('the command verifies files and reports the result by its exit status', async () => {
  const [file, proof] = [join(dir, 'attestation.json'), join(dir, 'liability.json')]
  const shown = await latest()
  writeFileSync(file, JSON.stringify(shown))
  writeFileSync(proof, JSON.stringify(await liability(accounts[3] ?? '')))
  const run = (...args: string[]) => spawnSync(process.execPath, [VERIFIER, ...args], { encoding: 'utf8' })
  const whole = run(file, '--signer', key.keys.ed25519, '--liability', proof)
  assert.equal(whole.status, 0, whole.stdout + whole.stderr)
  assert.match(whole.stdout, /^path {8}ok {6}place \d+ of 3\d\d,/m)
  assert.match(run(file).stdout, /what was checked holds, without signer and book\n$/)
  writeFileSync(file, JSON.stringify({ ...shown, sha256: 'ab'.repeat(32) }))
  const broken = run(file)
  assert.deepEqual([broken.status, /the attestation does not hold\n$/.test(broken.stdout)], [1, true])
  assert.equal(run(file, '--sheet', proof).status, 2)
})

test('leaves of two attestations cannot be linked, and the salts are those of the definition', async () => {
  const before = await Promise.all(accounts.slice(0, 20).map(liability))
  const first = await latest()
  await attest()
  const second = await latest()
  const now = await Promise.all(accounts.slice(0, 20).map(liability))
  assert.deepEqual(JSON.parse(second.statement).previous, { number: first.number, sha256: first.sha256 })
  assert.equal(second.liabilities.sum_nanos, first.liabilities.sum_nanos)
  const known = new Set(before.flatMap(({ leaf, salt }) => [leaf, salt]))
  assert.ok(now.every(({ leaf, salt }) => !known.has(leaf) && !known.has(salt)))
  assert.notDeepEqual(
    now.map(({ position }) => position),
    before.map(({ position }) => position),
  )
  const salts = saltKey(await liabilitySecret(pool), 2)
  await inSnapshot(pool, async (client) => {
    let last: Buffer = Buffer.alloc(0)
    for await (const rows of saltedAccounts(client, salts, 100)) {
      for (const { id, salt } of rows) {
        assert.ok(salt.equals(saltOf(salts, id)) && Buffer.compare(last, salt) < 0)
        last = salt
      }
    }
  })
  const again = await read<Shown>('get_attestation', { params: { number: first.number } })
  assert.deepEqual(again, first)
  assert.deepEqual(await auditFaults(), [])
})

test('an attestation during concurrent bookings is one snapshot, which the audit reproduces', async () => {
  const stop = new AbortController()
  const booking = [0, 1, 2].map(async (lane) => {
    for (let at = 0; !stop.signal.aborted; at++) {
      const accountId = accounts[(at * 3 + lane) % ACCOUNTS] ?? ''
      const credit = { accountId, nanos: 17, units: 17, ref: `beside-${lane}-${at}` }
      await withTransaction(pool, (client) => creditCoin(client, credit))
    }
  })
  try {
    for (let at = 0; at < 3; at++) {
      await attest(key, { attestationRowsMax: 20 })
      assert.deepEqual(await auditFaults(), [])
    }
  } finally {
    stop.abort()
    await Promise.all(booking)
  }
  const shown = await latest()
  const owed = shown.reserve.owed.map(({ amount }) => amount)
  assert.equal(shown.liabilities.sum_nanos, String(Math.round(Number(owed[0]) * 1e9)))
  assert.deepEqual(await auditFaults(), [])
})

test('an interrupted attestation leaves no rows, and the next one is complete', async () => {
  const { number } = await latest()
  await withTransaction(pool, async (client) => {
    // It waits with all its tiles stored, and nothing else.
    await client.query('LOCK TABLE reserve_attestations IN SHARE MODE')
    const cut = attest()
    const isCut = assert.rejects(cut)
    await until('it is at work', async () => {
      const found = await pool.query(
        `SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = current_database()
         AND wait_event_type = 'Lock' AND query LIKE 'INSERT INTO reserve_attestations%'`,
      )
      return (found.rowCount ?? 0) > 0
    })
    await isCut
  })
  assert.equal((await latest()).number, number)
  const tiles = await pool.query('SELECT FROM liability_tiles WHERE attestation > $1', [number])
  assert.equal(tiles.rowCount, 0)
  await attest()
  assert.equal(Number((await latest()).number), Number(number) + 1)
  assert.deepEqual(await auditFaults(), [])
})

test('an account dropped from a tree, or changed in it, is detected by the account and by the audit', async () => {
  const { number } = await latest()
  const victim = accounts[11] ?? ''
  const { leaf } = await liability(victim)
  const stored = await pool.query<{ place: number; nodes: Buffer }>(
    'SELECT place, nodes FROM liability_tiles WHERE attestation = $1 AND level = 0',
    [number],
  )
  const tile = stored.rows.find(({ nodes }) => nodes.includes(Buffer.from(leaf, 'hex')))
  assert.ok(tile)
  const at = tile.nodes.indexOf(Buffer.from(leaf, 'hex'))
  const without = Buffer.concat([tile.nodes.subarray(0, at), tile.nodes.subarray(at + 48)])
  const store = (nodes: Buffer) =>
    pool.query('UPDATE liability_tiles SET nodes = $3 WHERE attestation = $1 AND level = 0 AND place = $2', [
      number,
      tile.place,
      nodes,
    ])
  await store(without)
  await assert.rejects(liability(victim), { row: 'attestation_not_found' })
  assert.equal((await auditFaults()).length, 1)
  const cheaper = Buffer.from(tile.nodes)
  cheaper.writeBigUInt64BE(0n, at + 40)
  await store(cheaper)
  assert.equal((await auditFaults()).length, 1)
  await store(tile.nodes)
  assert.deepEqual(await auditFaults(), [])
})

test('a keeper attests on schedule and on request; a keeper with another key signs no attestation', async () => {
  const before = Number((await latest()).number)
  const options = {
    pool,
    chain: undefined,
    log,
    limits: limitsWith({ attestationCheckMs: 20 }),
    intervalSeconds: 3_600,
  }
  const stranger = attestationKeeper({ ...options, key: CatalogKey.of(`0x${'33'.repeat(32)}`), intervalSeconds: 0 })
  await sleep(100)
  await stranger.stop()
  const keepers = [attestationKeeper({ ...options, key }), attestationKeeper({ ...options, key })]
  assert.equal(Number((await latest()).number), before)
  await requestAttestation(pool)
  await until('it is attested', async () => (await lastAttestation(pool))?.number === before + 1)
  await Promise.all(keepers.map((keeper) => keeper.stop()))
  const { number, reason } = await read('get_latest_attestation')
  assert.deepEqual([number, reason], [String(before + 1), 'operator'])
  const kept = await pool.query('SELECT DISTINCT attestation FROM liability_tiles')
  assert.ok((kept.rowCount ?? 0) <= limits.attestationTreesKept)
})
