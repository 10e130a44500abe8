// Goal: the private tier is served by hardware that is proved now, and by nothing else; receipts name the proof, and a
// stranger verifies it again.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { after, before, test } from 'node:test'
import { promisify } from 'node:util'
import type { AttestationPolicy } from '../../../control/evidence/attestationPolicy.ts'
import { VENDOR_ROOTS } from '../../../control/evidence/vendorRoots.ts'
import { verifyEvidence } from '../../../control/evidence/verifyEvidence.ts'
import { DEMO_ROOT } from '../../../control/launch/demoAttestation.ts'
import { projectRoot } from '../../../control/launch/paths.ts'
import { apiOk } from '../../support/clients/apiClient.ts'
import { assertError, chat, completion } from '../../support/clients/chatClient.ts'
import { fencedBlocks } from '../../support/fencedBlocks.ts'
import { itemOf } from '../../support/present.ts'
import { type Stack, startStack, until } from '../../support/stack.ts'
import { mockAttestation } from '../../support/testCatalog.ts'

interface Attestation {
  readonly model: string
  readonly provider: string
  readonly verified: boolean
  readonly since: string | null
  readonly demo: boolean
  readonly report: { readonly id: string; readonly nonce: string; readonly url: string } | null
  readonly last_answer: { readonly verdict: string; readonly fault: string | null } | null
}

interface Report {
  readonly verdict: string
  readonly nonce: string
  readonly fetched_at: string
  readonly evidence: string
  readonly evidence_sha256: string
  readonly measurements: Record<string, string>
  readonly policy: Pick<AttestationPolicy, 'kind' | 'measurements' | 'gpu'> & { readonly test_root: string }
}

const PLAIN = { provider: 'plain', model: 'mock,text=plain' }
const PROVED = { provider: 'mock', model: 'mock,text=proved' }
const PRIVATE = { attested: true, price_private: { input: '3', output: '4' } }

let stack: Stack
let privateKey: string
let standardKey: string

before(async () => {
  stack = await startStack({
    limits: { evidenceCheckMs: 100, attestationPollMs: 300, attestationRetryMs: 300 },
    catalog: {
      providers: [
        { id: 'plain' },
        { id: 'mock', attested: true },
        { id: 'dead', attestation: mockAttestation('http://127.0.0.1:1/v1') },
      ],
      models: [
        { id: 'test/private', routes: [PLAIN, PROVED], ...PRIVATE },
        { id: 'test/unproved', routes: [{ provider: 'dead', model: 'chat-small' }], ...PRIVATE },
        { id: 'test/unasked', routes: [PLAIN], ...PRIVATE },
      ],
    },
  })
  standardKey = (await stack.createAccount()).apiKey
  privateKey = (await stack.createAccount({ args: ['--private-tier'] })).apiKey
})
after(() => stack.finish())

const list = async () => (await apiOk<{ data: Attestation[] }>(stack.baseUrl, 'GET', '/v1/privacy/attestation')).data
const stateOf = async (model: string) =>
  itemOf(
    (await list()).filter((one) => one.model === model),
    0,
  )
const ask = (model: string, key = privateKey) => chat(stack.baseUrl, key, { model })
const setEvidence = (state: object, status = 200) =>
  fetch(`http://127.0.0.1:${stack.provider.port()}/_attestation`, {
    method: 'POST',
    body: JSON.stringify({ state, status }),
  })

/** Asks for test/private until it is answered with this status. */
const untilStatus = (status: number) =>
  until(`it is answered ${status}`, async () => (await ask('test/private')).status === status)
/** Which route served: the mock repeats its text. */
const textOf = (reply: Awaited<ReturnType<typeof ask>>): string => {
  const { choices } = completion(reply) as unknown as { choices: Array<{ message: { content: string } }> }
  return /^(plain|proved)/.exec(itemOf(choices, 0).message.content)?.[0] ?? ''
}

test('without a verified report the private tier is rejected, and no request runs', async () => {
  const before = (await stack.provider.log()).length
  for (const model of ['test/unproved', 'test/unasked']) assertError(await ask(model), 503, 'model_unverified')
  assert.equal((await stack.provider.log()).length, before)
  await stack.settled()
  const { verified, report, since } = await stateOf('test/unproved')
  assert.deepEqual([verified, report, since], [false, null, null])
  // Nobody is asked to prove anything for it, so that it is not listed.
  assert.deepEqual(
    (await list()).filter(({ model }) => model === 'test/unasked'),
    [],
  )
  assert.equal((await ask('test/unasked', standardKey)).status, 200)
})

test('verified hardware serves the private tier, receipts name its report, and a third party can verify it', async () => {
  await untilStatus(200)
  const reply = await ask('test/private')
  assert.equal(textOf(reply), 'proved')
  const { receipt } = completion(reply)
  const attestation = (receipt as unknown as { attestation: string }).attestation
  assert.deepEqual([receipt.tier, receipt.cost.units !== '0'], ['private', true])
  await stack.settled()
  const { log: _, ...booked } = await apiOk<Record<string, unknown>>(
    stack.baseUrl,
    'GET',
    `/x402/v1/receipts/${receipt.request_id}`,
  )
  assert.deepEqual(booked, receipt)

  const report = await apiOk<Report>(stack.baseUrl, 'GET', `/v1/privacy/attestation?report=${attestation}`)
  assert.equal(report.verdict, 'verified')
  assert.equal(createHash('sha256').update(report.evidence).digest('hex'), report.evidence_sha256)
  const { kind, measurements, gpu, test_root: testRoot } = report.policy
  const policy = { url: '', maxAgeSeconds: 0, kind, measurements, gpu, testRoot }
  const options = { policy, nonce: report.nonce, nowMs: Date.parse(report.fetched_at) }
  assert.deepEqual(verifyEvidence(Buffer.from(report.evidence), options).measurements, report.measurements)

  const standard = await ask('test/private', standardKey)
  assert.equal(textOf(standard), 'plain')
  assert.equal('attestation' in completion(standard).receipt, false)
  const { verified, demo, provider } = await stateOf('test/private')
  assert.deepEqual([verified, demo, provider], [true, true, 'mock'])
})

test('the script from the documentation verifies a report with only the root', async () => {
  const guide = 'docs/guides/private-tier.md'
  const blocks = fencedBlocks(join(projectRoot, guide), guide)
  const code = blocks.find(({ file }) => file === 'verify-attestation.mjs')?.text
  assert.ok(code !== undefined)
  const root = join(stack.dir, 'root.pem')
  writeFileSync(root, DEMO_ROOT)
  const id = (await stateOf('test/private')).report?.id ?? ''
  const run = (rootFile: string) =>
    promisify(execFile)(process.execPath, [
      '--input-type=module',
      '--eval',
      code,
      'verify',
      stack.baseUrl,
      id,
      rootFile,
    ])
  assert.match((await run(root)).stdout, new RegExp(`^${id} holds: MRTD (11){48}, RTMR3 (33){48}\n$`))
  const other = join(stack.dir, 'other.pem')
  writeFileSync(other, itemOf(VENDOR_ROOTS, 0).pem)
  await assert.rejects(run(other), /the root does not hold/)
})

test('a machine with another measurement is disabled immediately, and enabled again when it matches', async () => {
  await setEvidence({ mrtd: '12'.repeat(48) })
  await untilStatus(503)
  assertError(await ask('test/private'), 503, 'model_unverified')
  assert.equal(textOf(await ask('test/private', standardKey)), 'plain')
  await until('it is shown', async () => (await stateOf('test/private')).last_answer?.fault === 'wrong_measurement')
  assert.equal((await stateOf('test/private')).verified, false)
  const metrics = await (await fetch(stack.controlMetricsUrl)).text()
  const rejected = (provider: string, reason: string) =>
    Number(
      metrics.match(
        new RegExp(`^sluice_control_evidence_rejected_total.provider="${provider}",reason="${reason}". (\\d+)$`, 'm'),
      )?.[1],
    )
  assert.ok(rejected('mock', 'wrong_measurement') > 0 && rejected('dead', 'unreachable') > 0)
  assert.deepEqual([rejected('mock', 'debug'), rejected('dead', 'debug')], [0, 0])
  await setEvidence({})
  await untilStatus(200)
})

test('a verified report survives an unresponsive provider and restarts of control and proxy', async () => {
  await setEvidence({}, 500)
  await until('it is silent', async () => (await stateOf('test/private')).last_answer?.verdict === 'unreachable')
  const before = await stateOf('test/private')
  assert.equal(textOf(await ask('test/private')), 'proved')
  await stack.control.stop()
  await stack.control.start()
  await stack.proxy.stop()
  await stack.proxy.start()
  await stack.ready()
  assert.equal(textOf(await ask('test/private')), 'proved')
  const after = await stateOf('test/private')
  assert.deepEqual([after.report?.id, after.since], [before.report?.id, before.since])
})
