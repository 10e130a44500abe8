// Goal: the pinned roots are those that were looked at when they were pinned.
import assert from 'node:assert/strict'
import { X509Certificate } from 'node:crypto'
import { test } from 'node:test'
import { rootsOf, VENDOR_ROOTS } from '../../../../control/evidence/vendorRoots.ts'

test('every root is a self-signed authority with the recorded fingerprint', () => {
  assert.equal(VENDOR_ROOTS.length, 5)
  for (const { name, pem, sha256 } of VENDOR_ROOTS) {
    const root = new X509Certificate(pem)
    assert.equal(root.fingerprint256.replaceAll(':', '').toLowerCase(), sha256, name)
    assert.deepEqual([root.ca, root.verify(root.publicKey)], [true, true], name)
    assert.match(root.subject, new RegExp(`CN=${name}`))
  }
  assert.deepEqual([rootsOf('intel').length, rootsOf('amd').length, rootsOf('nvidia').length], [1, 3, 1])
})
