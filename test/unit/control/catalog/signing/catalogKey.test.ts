import assert from 'node:assert/strict'
import { createPrivateKey, createPublicKey, hkdfSync } from 'node:crypto'
import { test } from 'node:test'
import { CatalogKey, generateCatalogKey } from '../../../../../control/catalog/signing/catalogKey.ts'
import { verifySignatures } from '../../../../../control/catalog/signing/verifySignatures.ts'

const SECRET = `0x${'11'.repeat(32)}`

test('one secret derives an Ethereum address, and an Ed25519 key by HKDF', () => {
  const { keys } = CatalogKey.of(SECRET)
  // As every wallet shows it.
  assert.equal(keys.address, '0x19e7e376e7c213b7e7e7e46cc70a5dd086daff2a')
  const seed = Buffer.from(hkdfSync('sha256', Buffer.alloc(32, 0x11), '', 'sluice catalog ed25519', 32))
  const der = Buffer.concat([Buffer.from('302e020100300506032b657004220420', 'hex'), seed])
  const key = createPublicKey(createPrivateKey({ key: der, format: 'der', type: 'pkcs8' }))
  assert.equal(keys.ed25519, Buffer.from(key.export({ format: 'jwk' }).x ?? '', 'base64url').toString('hex'))
  assert.deepEqual(CatalogKey.of(SECRET.toUpperCase().replace('0X', '0x')).keys, keys)
})

test('signatures are valid only for their text and keys', async () => {
  const [one, other] = [CatalogKey.of(SECRET), CatalogKey.of(generateCatalogKey())]
  const [mine, theirs] = [await one.sign('a text'), await other.sign('a text')]
  const holds = (text: string, keys = one.keys, signatures = mine) => verifySignatures(text, keys, signatures)
  assert.equal(await holds('a text'), true)
  assert.equal(await holds('a text\n'), false)
  assert.equal(await holds('a text', other.keys), false)
  // Each of the two has to hold.
  assert.equal(await holds('a text', one.keys, { ...mine, eip191: theirs.eip191 }), false)
  assert.equal(await holds('a text', one.keys, { ...mine, ed25519: theirs.ed25519 }), false)
  for (const broken of ['0x', '0x00', `${mine.eip191}00`] as const) {
    assert.equal(await holds('a text', one.keys, { ...mine, eip191: broken as `0x${string}` }), false, broken)
  }
  assert.equal(await holds('a text', one.keys, { ...mine, ed25519: 'ff' }), false)
})

test('the error for a wrong secret does not contain it', () => {
  for (const secret of ['0xsecret', `0x${'0'.repeat(64)}`, `0x${'f'.repeat(64)}`, '11'.repeat(32)]) {
    assert.throws(
      () => CatalogKey.of(secret),
      ({ message }: Error) => !message.includes(secret.slice(2, 12)) && message.startsWith('the key is'),
    )
  }
})
