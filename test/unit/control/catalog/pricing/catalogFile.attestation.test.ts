import assert from 'node:assert/strict'
import { test } from 'node:test'
import { sluice } from '../../../../../contract/wire/generated/messages.js'
import { type Catalog, parseCatalog } from '../../../../../control/catalog/pricing/catalogFile.ts'
import { encodeRecord } from '../../../../../control/catalog/pricing/record.ts'
import { unattestedModels } from '../../../../../control/catalog/pricing/unattested.ts'
import { policyDigest, policyOf } from '../../../../../control/evidence/attestationPolicy.ts'
import { problemsOf } from '../../../../support/catalogProblems.ts'

const MRTD = 'AB'.repeat(48)
const URL_LINE = '      url: "https://acme.test/v1/attestation/report?model=chat"'

/** The text of a catalog with these lines of `attestation`, the first of which stands in line 4. */
function catalogOf(lines: string): string {
  return `coin: { usd: "1" }
providers:
  - { id: plain, base_url: "http://127.0.0.1:9100/v1", dialect: openai, data_policy: none }
  - id: acme
    base_url: "https://acme.test/v1"
    dialect: openai
    data_policy: none
    attestation:
${lines}
models:
  - id: acme/chat
    owned_by: acme
    modality: chat
    endpoints: [chat]
    context: 1000
    max_output: 100
    attested: true
    price: { input: "1", output: "2" }
    price_private: { input: "2", output: "4" }
    routes: [ { provider: plain }, { provider: acme } ]
`
}

const SOUND = catalogOf(`${URL_LINE}
      kind: tdx
      measurements: [ { mrtd: "${MRTD}" } ]
      tcb_statuses: [UpToDate]
      gpu: required`)

const recordOf = (catalog: Catalog, reports = new Map()) => {
  const published = { version: 1, publishedAtMs: 0, validUntilMs: 0, sheetJson: '{}', listedAtMs: new Map() }
  const [, acme] = sluice.CatalogRecord.decode(encodeRecord(catalog, published, [], reports)).providers
  return sluice.ProviderRecord.create(acme ?? {})
}

test('the attestation policy of a provider reaches control in the record, in lower case and with its defaults', () => {
  const { attestation, report } = recordOf(parseCatalog('catalog.yaml', SOUND))
  assert.deepEqual(policyOf(attestation), {
    url: 'https://acme.test/v1/attestation/report?model=chat',
    kind: 'tdx',
    measurements: [{ mrtd: MRTD.toLowerCase() }],
    maxAgeSeconds: 3600,
    tcbStatuses: ['UpToDate'],
    gpu: true,
  })
  assert.equal(report, null)
})

test('a report is in the record if it was verified against the same policy', () => {
  const catalog = parseCatalog('catalog.yaml', SOUND)
  const policySha256 = policyDigest(recordOf(catalog).attestation)
  const report = { id: 'att_1', policySha256, validUntilMs: 9 }
  const standing = recordOf(catalog, new Map([['acme', report]])).report
  assert.deepEqual([standing?.id, standing?.validUntilMs], ['att_1', 9])
  const changed = parseCatalog('catalog.yaml', SOUND.replace('gpu: required', 'gpu: none'))
  assert.equal(recordOf(changed, new Map([['acme', report]])).report, null)
})

test('models whose private tier has no attested route are reported', () => {
  assert.deepEqual(unattestedModels(parseCatalog('catalog.yaml', SOUND)), [])
  const plain = SOUND.replace(', { provider: acme }', '')
  assert.deepEqual(unattestedModels(parseCatalog('catalog.yaml', plain)), ['acme/chat'])
})

const FAULTS: ReadonlyArray<readonly [what: string, lines: string, complaint: RegExp]> = [
  ['no measurements', `${URL_LINE}\n      kind: tdx`, /attestation\.measurements is missing/],
  ['no machine', `${URL_LINE}\n      kind: tdx\n      measurements: []`, /must be a list of 1 to 64 machines/],
  [
    'a machine without registers',
    `${URL_LINE}\n      kind: tdx\n      measurements: [ {} ]`,
    /must name at least one register/,
  ],
  [
    'a register of another kind',
    `${URL_LINE}\n      kind: sev-snp\n      measurements: [ { mrtd: "${MRTD}" } ]`,
    /measurements\[0\]\.mrtd is no register of sev-snp; registers: measurement, /,
  ],
  [
    'a register of another length',
    `${URL_LINE}\n      kind: tdx\n      measurements: [ { mrtd: "${'ab'.repeat(32)}" } ]`,
    /measurements\[0\]\.mrtd must be 48 bytes in hex$/,
  ],
  [
    'statuses of TDX for SEV-SNP',
    `${URL_LINE}\n      kind: sev-snp\n      measurements: [ { measurement: "${MRTD}" } ]\n      tcb_statuses: [UpToDate]`,
    /tcb_statuses is for the kind tdx/,
  ],
  [
    'a root that is no certificate',
    `${URL_LINE}\n      kind: tdx\n      measurements: [ { mrtd: "${MRTD}" } ]\n      test_root: "-----BEGIN CERTIFICATE-----AAAA-----END CERTIFICATE-----"`,
    /attestation\.test_root cannot be read/,
  ],
  [
    'an age of more than a day',
    `${URL_LINE}\n      kind: tdx\n      measurements: [ { mrtd: "${MRTD}" } ]\n      max_age_seconds: 86401`,
    /max_age_seconds must be from 60 to 86400 seconds/,
  ],
]
for (const [what, lines, complaint] of FAULTS) {
  test(`rejected: ${what}`, () => {
    const problems = problemsOf(catalogOf(lines))
    assert.ok(
      problems.some((line) => complaint.test(line)),
      problems.join('\n'),
    )
  })
}
