// Goal: the demo catalog trusts the root that the mock provider's evidence rests on.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { test } from 'node:test'
import { parseCatalog } from '../../../../control/catalog/pricing/catalogFile.ts'
import { verifyEvidence } from '../../../../control/evidence/verifyEvidence.ts'
import { DEMO_ROOT } from '../../../../control/launch/demoAttestation.ts'
import { demoCatalog } from '../../../../control/launch/demoCatalog.ts'
import { demoMachine, DEMO_ROOT as MOCKS_ROOT } from '../../../../mock/attestation/demoMachine.ts'

test('the evidence of the mock provider satisfies the demo catalog', () => {
  assert.equal(DEMO_ROOT, MOCKS_ROOT)
  const { providers } = parseCatalog('demo', demoCatalog(1))
  const policy = providers.find(({ attestation }) => attestation !== undefined)?.attestation
  assert.ok(policy?.testRoot !== undefined)
  const nonce = randomBytes(32).toString('hex')
  const evidence = Buffer.from(JSON.stringify(demoMachine().evidence(nonce)))
  const { measurements } = verifyEvidence(evidence, { policy, nonce, nowMs: Date.now() })
  assert.equal(measurements['mrtd'], '11'.repeat(48))
})
