// Goal: a provider's report stands as long as it proves what the catalog asks for, and no longer; every answer is kept. Time
// and the provider are the test's.
import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import { after, before, test } from 'node:test'
import { pino } from 'pino'
import { DIALECTS_OF } from '../../../contract/catalog/dialects.ts'
import { newId } from '../../../contract/wire/ids.ts'
import type { Redis } from '../../../contract/wire/redis.ts'
import { AttestationKeeper } from '../../../control/catalog/attestation/attestationKeeper.ts'
import { attestationListJson, attestationReportJson } from '../../../control/catalog/attestation/attestationReads.ts'
import { insertReport, verifiedSince } from '../../../control/catalog/attestation/reportStore.ts'
import { parseCatalog } from '../../../control/catalog/pricing/catalogFile.ts'
import { publishCatalog } from '../../../control/catalog/pricing/publish.ts'
import { migrate } from '../../../control/runtime/db/migrate.ts'
import { createPool, type Pool } from '../../../control/runtime/db/pool.ts'
import { CallError, type HttpCall } from '../../../control/runtime/net/httpCall.ts'
import { demoMachine } from '../../../mock/attestation/demoMachine.ts'
import type { TdxState } from '../../../mock/attestation/tdxMachine.ts'
import { decodeCatalog } from '../../../proxy/catalog/catalog.ts'
import { chooseRoutes } from '../../../proxy/upstream/chooseRoutes.ts'
import { RouteHealth } from '../../../proxy/upstream/routeHealth.ts'
import { limits } from '../../support/limits.ts'
import { itemOf } from '../../support/present.ts'
import { freshDatabase } from '../../support/services.ts'
import { mockAttestation, testCatalog } from '../../support/testCatalog.ts'

const START_MS = Date.parse('2026-11-23T12:00:00Z')
const MINUTE_MS = 60_000
const URL_OF_PROVIDER = 'https://provider.test/v1'
const POLICY = {
  allowRegistered: true,
  allowRetention: false,
  cheapest: false,
  attested: true,
  dialects: DIALECTS_OF.chat,
}
const machine = demoMachine()

let pool: Pool
let nowMs = START_MS
let state: TdxState | 'away' = {}
const asked: HttpCall[] = []
let inRedis: Buffer | null = null

before(async () => {
  pool = createPool(await freshDatabase(), limits)
  await migrate(pool)
  await publish()
})
after(() => pool.end())

/** Puts a catalog in force whose one provider has to prove its hardware. */
async function publish(policy: object = {}): Promise<void> {
  const attestation = { ...mockAttestation(URL_OF_PROVIDER), ...policy }
  const text = testCatalog(URL_OF_PROVIDER, {
    providers: [{ id: 'mock', attestation }],
    models: [{ id: 'test/private', attested: true, price_private: { input: '3', output: '4' } }],
  })
  await publishCatalog(pool, parseCatalog('catalog.yaml', text), limits, nowMs)
}

const redis = {
  getBuffer: async () => inRedis,
  set: async (_: string, record: Buffer) => {
    inRedis = record
  },
  xadd: async () => '',
} as unknown as Redis

/** What a control that has just started does at a time. */
async function pass(atMs: number): Promise<void> {
  nowMs = atMs
  const keeper = new AttestationKeeper({
    pool,
    redis,
    limits,
    log: pino({ level: 'silent' }),
    environment: { SLUICE_TEST_PROVIDER_KEY: 'secret' },
    now: () => nowMs,
    call: async (call) => {
      asked.push(call)
      if (state === 'away') throw new CallError('timeout', call.url.host, false)
      const body = JSON.stringify(machine.evidence(call.url.searchParams.get('nonce') ?? '', state))
      return { status: 200, body: Buffer.from(body), retryAfterSeconds: 0 }
    },
  })
  await keeper.pass()
}

/** What the proxies make of it: the report that the private tier is served by, or the code of the refusal. */
function served(atMs = nowMs): string {
  assert.ok(inRedis !== null)
  const model = decodeCatalog(inRedis, { SLUICE_TEST_PROVIDER_KEY: 'secret' }).models.get('test/private')
  assert.ok(model !== undefined)
  try {
    return itemOf(chooseRoutes(model, POLICY, new RouteHealth(limits), atMs), 0).provider.report?.id ?? ''
  } catch (error) {
    return (error as { code: string }).code
  }
}

const shown = async () => itemOf((await attestationListJson(pool, nowMs)).data, 0)

test('a report is valid until it expires, and is renewed before', async () => {
  assert.equal((await shown()).verified, false)
  await pass(START_MS)
  const first = served()
  assert.match(first, /^att_/)
  assert.deepEqual([asked.length, asked[0]?.headers['authorization']], [1, 'Bearer secret'])
  assert.deepEqual([(await shown()).verified, (await shown()).report?.id], [true, first])
  assert.equal(served(START_MS + 60 * MINUTE_MS - 1), first)
  assert.equal(served(START_MS + 60 * MINUTE_MS), 'model_unverified')
  await pass(START_MS + 9 * MINUTE_MS)
  assert.equal(asked.length, 1)
  await pass(START_MS + 10 * MINUTE_MS)
  assert.equal(asked.length, 2)
  assert.notEqual(asked[1]?.url.search, asked[0]?.url.search)
  assert.notEqual(served(), first)
  assert.equal((await shown()).since, new Date(START_MS).toISOString())
})

test('while the provider does not respond, the report stays valid until it expires', async () => {
  state = 'away'
  const before = served()
  await pass(START_MS + 20 * MINUTE_MS)
  assert.equal(served(), before)
  assert.deepEqual([(await shown()).last_answer?.verdict, (await shown()).verified], ['unreachable', true])
  await pass(START_MS + 20 * MINUTE_MS + 59_000)
  assert.equal(asked.length, 3)
  await pass(START_MS + 70 * MINUTE_MS)
  assert.equal(served(), 'model_unverified')
  assert.equal((await shown()).verified, false)
  // Verified again, it is so since then.
  state = {}
  await pass(START_MS + 80 * MINUTE_MS)
  assert.equal((await shown()).since, new Date(START_MS + 80 * MINUTE_MS).toISOString())
})

test('a response of another machine invalidates the report immediately, and a later one of the right machine renews it', async () => {
  state = { mrtd: '12'.repeat(48) }
  await pass(START_MS + 90 * MINUTE_MS)
  assert.equal(served(), 'model_unverified')
  const { last_answer: last, report, since } = await shown()
  assert.deepEqual([last?.verdict, last?.fault, report, since], ['refused', 'wrong_measurement', null, null])
  state = {}
  await pass(START_MS + 91 * MINUTE_MS)
  assert.match(served(), /^att_/)
  assert.equal((await shown()).since, new Date(START_MS + 91 * MINUTE_MS).toISOString())
})

test('a catalog with a stricter policy requires a new proof before the provider serves again', async () => {
  const before = served()
  await publish({ max_age_seconds: 7200 })
  await pass(START_MS + 92 * MINUTE_MS)
  assert.notEqual(served(), before)
  // The same catalog again keeps what stands.
  const standing = served()
  await publish({ max_age_seconds: 7200 })
  await pass(START_MS + 92 * MINUTE_MS + 1)
  assert.equal(served(), standing)
  await publish({ measurements: [{ mrtd: 'ab'.repeat(48) }] })
  await pass(START_MS + 93 * MINUTE_MS)
  assert.equal(served(), 'model_unverified')
})

test('every response is stored with its verdict and cannot be changed', async () => {
  const found = await pool.query<{ id: string; verdict: string }>(
    'SELECT id, verdict FROM attestation_reports ORDER BY id',
  )
  const verdicts = found.rows.map(({ verdict }) => verdict)
  assert.equal(verdicts.length, asked.length)
  assert.deepEqual([...new Set(verdicts)].sort(), ['refused', 'unreachable', 'verified'])
  for (const { id, verdict } of found.rows) {
    const report = await attestationReportJson(pool, id)
    assert.deepEqual([report.verdict, report.demo, report.fault === null], [verdict, true, verdict === 'verified'])
    assert.equal(createHash('sha256').update(report.evidence).digest('hex'), report.evidence_sha256)
  }
  await assert.rejects(pool.query("UPDATE attestation_reports SET verdict = 'verified'"), /append|change|refuse/i)
  await assert.rejects(attestationReportJson(pool, 'att_00000000000000000000000000'), { code: 'not_found' })
})

test('a provider that is refused for months fills no table, and since when it is verified stays right', async () => {
  await publish()
  state = {}
  const dayMs = 24 * 60 * MINUTE_MS
  const [verifiedMs, refusedMs] = [START_MS + dayMs, START_MS + dayMs + 10 * MINUTE_MS]
  await pass(verifiedMs)
  const standing = served()
  assert.match(standing, /^att_/)
  state = { mrtd: '12'.repeat(48) }
  const refusals = 20
  for (let i = 0; i < refusals; i++) await pass(refusedMs + i * MINUTE_MS)
  const rows = async () =>
    (
      await pool.query<{ id: string; verdict: string; bytes: number; at: Date }>(
        `SELECT id, verdict, length(evidence) AS bytes, fetched_at AS at FROM attestation_reports
         WHERE fetched_at >= $1 ORDER BY id`,
        [new Date(verifiedMs)],
      )
    ).rows
  const kept = await rows()
  assert.equal(kept.length, 1 + refusals)
  assert.equal(kept.filter(({ verdict, bytes }) => verdict === 'refused' && bytes > 0).length, 1)
  assert.equal((await attestationReportJson(pool, itemOf(kept, 2).id)).evidence, '')
  // After it is verified again, the refusals but the last one are of no use.
  state = {}
  const againMs = refusedMs + refusals * MINUTE_MS
  await pass(againMs)
  const since = new Date(againMs).toISOString()
  assert.equal((await shown()).since, since)
  for (let atMs = againMs; atMs <= againMs + 40 * MINUTE_MS; atMs += 10 * MINUTE_MS) await pass(atMs)
  const later = limits.attestationRefusedKeptMs + 2 * MINUTE_MS
  const counted = asked.length
  await pass(refusedMs + refusals * MINUTE_MS + later)
  assert.equal(asked.length, counted + 1)
  const left = await rows()
  assert.deepEqual(
    left.filter(({ verdict }) => verdict !== 'verified').map(({ at }) => at.getTime()),
    [againMs - MINUTE_MS],
  )
  const verified = await pool.query<{ id: string }>(
    `SELECT id FROM attestation_reports WHERE verdict = 'verified' AND fetched_at < $1 ORDER BY id DESC LIMIT 1`,
    [new Date(againMs + 41 * MINUTE_MS)],
  )
  assert.equal((await verifiedSince(pool, 'mock', itemOf(verified.rows, 0).id))?.toISOString(), since)
  await assert.rejects(pool.query('DELETE FROM attestation_reports WHERE id = $1', [standing]), /is kept/)
})

test('long evidence that is refused is not kept', async () => {
  const report = {
    id: newId('att', nowMs),
    provider: 'long',
    policy: '{}',
    nonce: 'a'.repeat(64),
    fetchedAtMs: nowMs,
    validUntilMs: nowMs,
    evidence: Buffer.alloc(limits.attestationRefusedBytesMax + 1, 'x'),
    outcome: { verdict: 'refused', fault: 'malformed', reason: 'x' },
  } as const
  await insertReport(pool, report, limits)
  const { evidence, evidence_sha256: digest } = await attestationReportJson(pool, report.id)
  assert.deepEqual([evidence, digest], ['', createHash('sha256').digest('hex')])
})
