import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { fromBase64, fromHex, toBase64, toHex } from '../../../verifier/bytes.ts'

test('bytes are written as Node.js writes them, and read back', () => {
  fc.assert(
    fc.property(fc.uint8Array({ maxLength: 100 }), (random) => {
      const bytes = Uint8Array.from(random)
      assert.equal(toHex(bytes), Buffer.from(bytes).toString('hex'))
      assert.equal(toBase64(bytes), Buffer.from(bytes).toString('base64'))
      assert.deepEqual(fromHex(toHex(bytes)), bytes)
      assert.deepEqual(fromBase64(toBase64(bytes)), bytes)
    }),
  )
})

test('there is one way to write bytes: no other case, unused bits, or missing padding', () => {
  for (const text of ['AB', 'abc', '0x', ' ab']) assert.equal(fromHex(text), undefined, text)
  for (const text of ['AB==', 'AAB=', 'AA', 'AA=', 'A===', ' AAAA', 'AA_A', 'AAAA\n']) {
    assert.equal(fromBase64(text), undefined, text)
  }
  assert.deepEqual(fromBase64('AA=='), Uint8Array.of(0))
})
