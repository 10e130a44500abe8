// Goal: evidence counts when everything about it holds, and for each thing that does not hold there is its own reason. The
// roots, chips and quotes are made here; what they are made of has the layout of the vendors.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import type { AttestationPolicy } from '../../../../control/evidence/attestationPolicy.ts'
import { EvidenceError, type EvidenceFault } from '../../../../control/evidence/evidenceError.ts'
import { verifyEvidence } from '../../../../control/evidence/verifyEvidence.ts'
import { Authority } from '../../../../mock/attestation/authority.ts'
import { PLATFORM, TdxMachine } from '../../../../mock/attestation/tdxMachine.ts'
import { GpuDevice } from '../../../support/attestation/gpuDevice.ts'
import { SnpMachine } from '../../../support/attestation/snpMachine.ts'

const NOW_MS = Date.parse('2026-11-23T12:00:00Z')
const nonce = randomBytes(32).toString('hex')
const root = Authority.root('Test root')
const machine = new TdxMachine(root)
const chip = new SnpMachine(root)
const gpu = new GpuDevice(root)

const TDX: AttestationPolicy = {
  url: 'https://provider.test/report',
  kind: 'tdx',
  measurements: [{ mrtd: 'ab'.repeat(48) }, { mrtd: '11'.repeat(48), rtmr3: '33'.repeat(48) }],
  maxAgeSeconds: 3600,
  gpu: false,
  testRoot: root.pem,
}
const SNP: AttestationPolicy = { ...TDX, kind: 'sev-snp', measurements: [{ measurement: '44'.repeat(48) }] }

const verified = (evidence: unknown, policy: AttestationPolicy, nowMs = NOW_MS) =>
  verifyEvidence(Buffer.from(JSON.stringify(evidence)), { policy, nonce, nowMs })

const refused = (evidence: unknown, policy: AttestationPolicy, fault: EvidenceFault, nowMs = NOW_MS): void => {
  assert.throws(
    () => verified(evidence, policy, nowMs),
    (error) => error instanceof EvidenceError && error.fault === fault,
    fault,
  )
}

/** Evidence with one byte of a member changed. */
const forged = (evidence: Record<string, unknown>, member: string, place: number): Record<string, unknown> => {
  const encoding = member === 'intel_quote' ? 'hex' : 'base64'
  const bytes = Buffer.from(String(evidence[member]), encoding)
  bytes[place] = (bytes[place] ?? 0) ^ 1
  return { ...evidence, [member]: bytes.toString(encoding) }
}

test('a TDX quote of either version is verified by its measurements', () => {
  for (const version of [4, 5] as const) {
    const { measurements, tcb, reportData } = verified(machine.evidence(nonce, { version }), TDX)
    assert.equal(measurements['mrtd'], '11'.repeat(48))
    assert.equal(measurements['rtmr3'], '33'.repeat(48))
    assert.equal(tcb, '')
    assert.equal(reportData.slice(64), nonce)
  }
})

test('a TDX quote is rejected for each failed check', () => {
  const other = new TdxMachine(Authority.root('Another root'))
  refused(machine.evidence(randomBytes(32).toString('hex')), TDX, 'wrong_nonce')
  refused(machine.evidence(nonce, { mrtd: '12'.repeat(48) }), TDX, 'wrong_measurement')
  // The first entry fits in MRTD, but no entry fits whole.
  refused(machine.evidence(nonce, { rtmr3: '34'.repeat(48) }), TDX, 'wrong_measurement')
  refused(machine.evidence(nonce, { debug: true }), TDX, 'debug')
  refused(other.evidence(nonce), TDX, 'unknown_root')
  refused(machine.evidence(nonce), { ...TDX, testRoot: undefined } as unknown as AttestationPolicy, 'unknown_root')
  refused(machine.evidence(nonce), TDX, 'certificate_expired', Date.parse('2050-06-01T00:00:00Z'))
  refused(machine.evidence(nonce), TDX, 'certificate_expired', Date.parse('2025-06-01T00:00:00Z'))
  // In the measurement, the signature, and the report of the enclave.
  for (const place of [48 + 136, 48 + 584 + 4, 48 + 584 + 4 + 128 + 6 + 64]) {
    refused(forged(machine.evidence(nonce), 'intel_quote', place), TDX, 'bad_signature')
  }
  refused({ nonce }, TDX, 'malformed')
  refused(chip.evidence(nonce), TDX, 'malformed')
})

test('with configured statuses, collateral decides on the platform', () => {
  const policy = { ...TDX, tcbStatuses: ['UpToDate'] as const }
  const tomorrow = new Date(NOW_MS + 86_400_000)
  const signer = root.issue({ name: 'Test TCB signing' })
  const level = (svn: number, tcbStatus: string) => {
    const components = Array.from({ length: 16 }, () => ({ svn }))
    const tcb = { sgxtcbcomponents: components, tdxtcbcomponents: components, pcesvn: PLATFORM.pceSvn }
    return { tcb, tcbDate: '2026-01-01T00:00:00Z', tcbStatus }
  }
  const levels = [level(PLATFORM.svn, 'UpToDate'), level(PLATFORM.svn - 1, 'OutOfDate')]
  const collateral = (
    options: { fmspc?: string; nextUpdate?: Date; tcbLevels?: unknown; revoked?: Authority[] } = {},
  ) => {
    const { fmspc = PLATFORM.fmspc, nextUpdate = tomorrow, tcbLevels = levels, revoked = [] } = options
    const text = JSON.stringify({ id: 'TDX', version: 3, fmspc, nextUpdate: nextUpdate.toISOString(), tcbLevels })
    return {
      tcb_info: text,
      tcb_info_signature: signer.sign(Buffer.from(text)).toString('hex'),
      tcb_info_issuer_chain: signer.pem + root.pem,
      root_ca_crl: root.revocationList([], tomorrow).toString('hex'),
      pck_crl: machine.platformAuthority.revocationList(revoked, tomorrow).toString('hex'),
    }
  }
  const withCollateral = (changes: Parameters<typeof collateral>[0] = {}, state = {}) => ({
    ...machine.evidence(nonce, state),
    collateral: collateral(changes),
  })
  assert.equal(verified(withCollateral(), policy).tcb, 'UpToDate')
  refused(machine.evidence(nonce), policy, 'tcb_too_low')
  refused(withCollateral({}, { teeSvn: PLATFORM.svn - 1 }), policy, 'tcb_too_low')
  const lenient = { ...policy, tcbStatuses: ['UpToDate', 'OutOfDate'] as const }
  assert.equal(verified(withCollateral({}, { teeSvn: PLATFORM.svn - 1 }), lenient).tcb, 'OutOfDate')
  refused(withCollateral({}, { teeSvn: 1 }), lenient, 'tcb_too_low')
  refused(withCollateral({ tcbLevels: [level(PLATFORM.svn, 'Unheard'), ...levels] }), lenient, 'tcb_too_low')
  refused(withCollateral({ fmspc: '000000000000' }), policy, 'tcb_too_low')
  refused(withCollateral({ nextUpdate: new Date(NOW_MS - 1) }), policy, 'certificate_expired')
  refused(withCollateral({ revoked: [machine.pck] }), policy, 'revoked')
  refused({ ...machine.evidence(nonce), collateral: { ...collateral(), tcb_info: '{}' } }, policy, 'bad_signature')
  const foreignList = root.revocationList([], tomorrow).toString('hex')
  refused({ ...machine.evidence(nonce), collateral: { ...collateral(), pck_crl: foreignList } }, policy, 'malformed')
  const revokedAuthority = root.revocationList([machine.platformAuthority], tomorrow).toString('hex')
  refused(
    { ...machine.evidence(nonce), collateral: { ...collateral(), root_ca_crl: revokedAuthority } },
    policy,
    'revoked',
  )
})

test('an SEV-SNP report is verified, and rejected for each failed check', () => {
  const { measurements, tcb } = verified(chip.evidence(nonce), SNP)
  assert.equal(measurements['measurement'], '44'.repeat(48))
  assert.equal(tcb, 'bootloader 3, tee 0, snp 8, microcode 9')
  assert.ok(verified(chip.evidence(nonce), { ...SNP, minTcb: { snp: 8, microcode: 9 } }))
  refused(chip.evidence(nonce), { ...SNP, minTcb: { microcode: 10 } }, 'tcb_too_low')
  refused(chip.evidence(randomBytes(32).toString('hex')), SNP, 'wrong_nonce')
  refused(chip.evidence(nonce, { measurement: '45'.repeat(48) }), SNP, 'wrong_measurement')
  refused(chip.evidence(nonce, { debug: true }), SNP, 'debug')
  // The certificate was issued for other versions, or for another chip.
  refused(chip.evidence(nonce, { microcode: 8 }), SNP, 'bad_signature')
  refused(chip.evidence(nonce, { otherChip: true }), SNP, 'bad_signature')
  for (const place of [0x90, 0x2a0, 0x2a0 + 72])
    refused(forged(chip.evidence(nonce), 'snp_report', place), SNP, 'bad_signature')
  refused(new SnpMachine(Authority.root('Another root')).evidence(nonce), SNP, 'unknown_root')
  refused(machine.evidence(nonce), SNP, 'malformed')
})

test('if GPUs are required, each of them has to answer the same nonce', () => {
  const policy = { ...TDX, gpu: true }
  const evidence = machine.evidence(nonce)
  assert.ok(verified({ ...evidence, nvidia_payload: gpu.payload(nonce) }, policy))
  assert.ok(verified({ ...evidence, nvidia_payload: JSON.parse(gpu.payload(nonce)) }, policy))
  refused(evidence, policy, 'gpu_missing')
  refused({ ...evidence, nvidia_payload: { evidence_list: [] } }, policy, 'gpu_missing')
  refused({ ...evidence, nvidia_payload: gpu.payload(randomBytes(32).toString('hex')) }, policy, 'wrong_nonce')
  const foreign = new GpuDevice(Authority.root('Another root'))
  refused({ ...evidence, nvidia_payload: foreign.payload(nonce) }, policy, 'unknown_root')
  const payload = JSON.parse(gpu.payload(nonce)) as { evidence_list: Array<Record<string, string>> }
  const [entry = {}] = payload.evidence_list
  refused({ ...evidence, nvidia_payload: { evidence_list: [forged(entry, 'evidence', 60)] } }, policy, 'bad_signature')
})
