// Goal: the permutation of attempt ids is the published one, and is undone exactly.
import assert from 'node:assert/strict'
import test from 'node:test'
import fc from 'fast-check'
import { BlockCipher, permute } from '../../../../contract/wire/blockCipher.ts'

/** Key and tags of the messages '' and 00 in the reference implementation of Chaskey, which has 8 rounds. */
const KEY = [0x833d3433, 0x009f389f, 0x2398e64f, 0x417acf39]
const TAGS = [
  [0x792e8fe5, 0x75ce87aa, 0x2d1450b5, 0x1191970b],
  [0x13a9307b, 0x50e62c89, 0x4577bd88, 0xc0bbdc18],
]
/** An empty last block and one of a zero byte, each padded with 0x01. */
const LAST_BLOCKS = [0x01, 0x0100]
const ROUNDS = 8

/** Multiplication by two in the field of the MAC's subkeys. */
function doubled([k0, k1, k2, k3]: readonly number[]): number[] {
  const [a, b, c, d] = [k0 as number, k1 as number, k2 as number, k3 as number]
  return [(a << 1) ^ (d >>> 31 === 1 ? 0x87 : 0), (b << 1) | (a >>> 31), (c << 1) | (b >>> 31), (d << 1) | (c >>> 31)]
}

test('the permutation gives the tags of the reference implementation', () => {
  const subkey = doubled(doubled(KEY))
  for (const [at, tag] of TAGS.entries()) {
    const block = Int32Array.from(KEY, (word, place) => word ^ (subkey[place] as number))
    block[0] = (block[0] as number) ^ (LAST_BLOCKS[at] as number)
    permute(block, ROUNDS)
    const found = [...block].map((word, place) => (word ^ (subkey[place] as number)) >>> 0)
    assert.deepEqual(found, tag)
  }
})

test('what is encrypted under a key is decrypted under it, and no other', () => {
  const anyBytes = fc.uint8Array({ minLength: 16, maxLength: 16 })
  fc.assert(
    fc.property(anyBytes, anyBytes, anyBytes, (key, other, plain) => {
      fc.pre(!Buffer.from(key).equals(other))
      const block = new Int32Array(plain.slice().buffer)
      new BlockCipher(Buffer.from(key)).encrypt(block)
      const wrong = block.slice()
      new BlockCipher(Buffer.from(other)).decrypt(wrong)
      assert.notDeepEqual(Buffer.from(wrong.buffer), Buffer.from(plain))
      new BlockCipher(Buffer.from(key)).decrypt(block)
      assert.deepEqual(Buffer.from(block.buffer), Buffer.from(plain))
    }),
  )
})
