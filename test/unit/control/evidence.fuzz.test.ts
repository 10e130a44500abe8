// Goal: evidence of any bytes is refused with a reason; nothing is read beyond its end, and nothing else is thrown.
import assert from 'node:assert/strict'
import { createHash, randomBytes } from 'node:crypto'
import { test } from 'node:test'
import fc from 'fast-check'
import type { AttestationPolicy } from '../../../control/evidence/attestationPolicy.ts'
import { readDer } from '../../../control/evidence/der.ts'
import { EvidenceError } from '../../../control/evidence/evidenceError.ts'
import { readPckExtension } from '../../../control/evidence/pckExtension.ts'
import { readRevocationList } from '../../../control/evidence/revocationList.ts'
import { readSnpReport } from '../../../control/evidence/snpReport.ts'
import { readTdxQuote } from '../../../control/evidence/tdxQuote.ts'
import { verifyEvidence } from '../../../control/evidence/verifyEvidence.ts'
import { Authority } from '../../../mock/attestation/authority.ts'
import { TdxMachine } from '../../../mock/attestation/tdxMachine.ts'
import { GpuDevice } from '../../support/attestation/gpuDevice.ts'
import { SnpMachine } from '../../support/attestation/snpMachine.ts'
import { rounds } from '../../support/rounds.ts'

const nonce = createHash('sha256').update('nonce').digest('hex')
const root = Authority.root('Test root')
const machine = new TdxMachine(root)
const chip = new SnpMachine(root)
const gpu = new GpuDevice(root)
const quote = Buffer.from(String(machine.evidence(nonce)['intel_quote']), 'hex')
const report = chip.report(randomBytes(64))
const list = root.revocationList([machine.pck], new Date('2027-01-01'))

const POLICY: AttestationPolicy = {
  url: 'https://provider.test/report',
  kind: 'tdx',
  measurements: [{ mrtd: '11'.repeat(48) }],
  maxAgeSeconds: 3600,
  tcbStatuses: ['UpToDate'],
  gpu: true,
  testRoot: root.pem,
}
const verify = (body: Buffer, policy = POLICY) =>
  verifyEvidence(body, { policy, nonce, nowMs: Date.parse('2026-11-23') })

/** Refused as evidence, or taken: anything else is a fault of the reader. */
function survives(read: () => unknown): void {
  try {
    read()
  } catch (error) {
    assert.ok(error instanceof EvidenceError, (error as Error).stack ?? String(error))
  }
}

test('evidence truncated at any byte is rejected', () => {
  for (const [bytes, read] of [
    [quote, readTdxQuote],
    [report, readSnpReport],
    [list, readRevocationList],
    [machine.pck.certificate, readDer],
    [machine.pck.certificate, readPckExtension],
  ] as const) {
    assert.ok(read(bytes))
    for (let length = 0; length < bytes.length; length++) {
      assert.throws(() => read(bytes.subarray(0, length)), EvidenceError, `${read.name} of ${length} bytes`)
    }
  }
})

test('a truncated quote also fails the whole verification', () => {
  for (let length = 0; length < quote.length; length += 37) {
    const cut = JSON.stringify({ intel_quote: quote.subarray(0, length).toString('hex') })
    assert.throws(() => verify(Buffer.from(cut)), EvidenceError)
  }
})

test('property: changed bytes of quotes, reports, lists, certificates and GPU messages cause no crash', () => {
  const messages = gpu.messages(nonce)
  const changes = fc.array(fc.tuple(fc.nat(), fc.nat({ max: 255 })), { minLength: 1, maxLength: 6 })
  const changed = (bytes: Buffer, edits: ReadonlyArray<readonly [number, number]>) => {
    const copy = Buffer.from(bytes)
    for (const [place, value] of edits) copy[place % copy.length] = value
    return copy
  }
  fc.assert(
    fc.property(changes, (edits) => {
      survives(() => readTdxQuote(changed(quote, edits)))
      survives(() => readSnpReport(changed(report, edits)))
      survives(() => readRevocationList(changed(list, edits)))
      survives(() => readPckExtension(changed(machine.pck.certificate, edits)))
      const evidence = machine.evidence(nonce)
      const payload = {
        evidence_list: [{ certificate: 'QUJD', evidence: changed(messages, edits).toString('base64') }],
      }
      const body = { ...evidence, intel_quote: changed(quote, edits).toString('hex'), nvidia_payload: payload }
      survives(() => verify(Buffer.from(JSON.stringify(body)), { ...POLICY, tcbStatuses: undefined } as never))
    }),
    { numRuns: rounds({ short: 100, long: 5_000 }) },
  )
})

test('property: JSON of any shape is rejected', () => {
  const member = fc.constantFrom('intel_quote', 'collateral', 'nvidia_payload', 'snp_report', 'snp_certificates')
  const value = fc.oneof(fc.jsonValue(), fc.constant(quote.toString('hex')), fc.constant(machine.pck.pem))
  fc.assert(
    fc.property(fc.dictionary(member, value), fc.constantFrom('tdx' as const, 'sev-snp' as const), (body, kind) => {
      assert.throws(() => verify(Buffer.from(JSON.stringify(body)), { ...POLICY, kind }), EvidenceError)
    }),
    { numRuns: rounds({ short: 150, long: 5_000 }) },
  )
  for (const text of ['', '{', 'null', '[]', '"x"', '{"intel_quote":7}']) {
    assert.throws(() => verify(Buffer.from(text)), EvidenceError, text)
  }
  assert.throws(() => verify(Buffer.from([0x7b, 0xff, 0x7d])), EvidenceError)
})
