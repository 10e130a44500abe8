import assert from 'node:assert/strict'
import { test } from 'node:test'
import { Agreement } from '../../../../../proxy/admission/leases/agreement.ts'

test('a doubt does not replace a report that is due, and a comparison ends both', () => {
  const agreement = new Agreement()
  assert.equal(agreement.phase, 'agreed')
  agreement.doubt()
  assert.equal(agreement.phase, 'unsure')
  agreement.lose()
  agreement.doubt()
  assert.equal(agreement.phase, 'unreported')
  agreement.settle()
  agreement.settle()
  assert.equal(agreement.phase, 'agreed')
  agreement.lose()
  agreement.lose()
  assert.equal(agreement.phase, 'unreported')
})
