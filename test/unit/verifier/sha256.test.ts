import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import fc from 'fast-check'
import { sha256 } from '../../../verifier/sha256.ts'

const reference = (bytes: Uint8Array): string => createHash('sha256').update(bytes).digest('hex')
const own = (bytes: Uint8Array<ArrayBuffer>): string => Buffer.from(sha256(bytes)).toString('hex')

test('SHA-256 equals that of Node.js for every length around block boundaries, and for random bytes', () => {
  for (let length = 0; length < 260; length++) {
    const bytes = new Uint8Array(length).fill(length)
    assert.equal(own(bytes), reference(bytes), `${length} bytes`)
  }
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 2_000 }), (random) => {
      const bytes = Uint8Array.from(random)
      assert.equal(own(bytes), reference(bytes))
    }),
  )
})
