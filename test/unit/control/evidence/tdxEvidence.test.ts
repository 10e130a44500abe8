// Goal: the quote of a real machine is verified up to Intel's own root.
import assert from 'node:assert/strict'
import { test } from 'node:test'

import { readPemChain } from '../../../../control/evidence/certificateChain.ts'
import { EvidenceError } from '../../../../control/evidence/evidenceError.ts'
import { readPckExtension } from '../../../../control/evidence/pckExtension.ts'
import { verifyTdx } from '../../../../control/evidence/tdxEvidence.ts'
import { readTdxQuote } from '../../../../control/evidence/tdxQuote.ts'
import { rootsOf } from '../../../../control/evidence/vendorRoots.ts'
import { REAL_TDX_QUOTE } from '../../../support/samples/realTdxQuote.ts'

const anchors = { roots: rootsOf('intel'), nowMs: Date.parse('2026-11-23T00:00:00Z') }

test('a real quote verifies: certificates, enclave and signature', () => {
  const { registers, reportData, tcb } = verifyTdx(REAL_TDX_QUOTE, undefined, anchors)
  assert.match(registers.mrtd, /^c68518a0ebb42136c12b2275164f8c72/)
  assert.match(registers.rtmr3, /^[0-9a-f]{96}$/)
  assert.match(reportData.toString('hex'), /^7668c6b4eafb62301c72714ecc7d90ce/)
  assert.equal(tcb, null)
})

test('its certificate names the platform', () => {
  const [pck] = readPemChain(readTdxQuote(REAL_TDX_QUOTE).pckChainPem)
  assert.ok(pck !== undefined)
  const { fmspc, componentSvns, pceSvn } = readPckExtension(pck.raw)
  assert.equal(fmspc, 'b0c06f000000')
  assert.deepEqual([componentSvns.length, componentSvns[0], pceSvn], [16, 2, 11])
})

test('it is rejected with any signed byte changed, with another root, or after its certificate expired', () => {
  for (let place = 0; place < 632; place += 13) {
    const changed = Buffer.from(REAL_TDX_QUOTE)
    changed[place] = (changed[place] ?? 0) ^ 0x40
    assert.throws(() => verifyTdx(changed, undefined, anchors), EvidenceError, `byte ${place}`)
  }
  assert.throws(() => verifyTdx(REAL_TDX_QUOTE, undefined, { ...anchors, roots: rootsOf('amd') }), {
    fault: 'unknown_root',
  })
  const later = { ...anchors, nowMs: Date.parse('2032-01-01T00:00:00Z') }
  assert.throws(() => verifyTdx(REAL_TDX_QUOTE, undefined, later), { fault: 'certificate_expired' })
})
