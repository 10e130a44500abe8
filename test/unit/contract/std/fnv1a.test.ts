import assert from 'node:assert/strict'
import { test } from 'node:test'
import { fnv1a } from '../../../../contract/std/fnv1a.ts'

// The vectors of the authors of the hash.
const VECTORS = { '': 0x811c9dc5, a: 0xe40c292c, b: 0xe70c2de5, foobar: 0xbf9cf968 }

test('texts have the hashes that the algorithm is known for, in whole and from a place on', () => {
  for (const [text, hash] of Object.entries(VECTORS)) {
    assert.equal(fnv1a(text) >>> 0, hash, text)
    assert.equal(fnv1a(`id_${text}`, 3) >>> 0, hash, text)
  }
})
