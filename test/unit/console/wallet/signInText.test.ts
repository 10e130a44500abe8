// Goal: wallets sign a text that the gateway reads. Method: the text is compared with the one of viem.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createSiweMessage } from 'viem/siwe'
import { signInText } from '../../../../console/wallet/signInText.ts'

test('the text is that of EIP-4361', () => {
  const issuedAt = '2027-01-31T12:00:00.000Z'
  const address = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
  const purpose = 'Link this wallet to your account.'
  const own = signInText({
    purpose,
    address,
    nonce: 'abcdefgh12345678',
    chainId: 31_337,
    host: '127.0.0.1:8080',
    origin: 'http://127.0.0.1:8080',
    issuedAt,
  })
  const expected = createSiweMessage({
    address,
    nonce: 'abcdefgh12345678',
    chainId: 31_337,
    domain: '127.0.0.1:8080',
    uri: 'http://127.0.0.1:8080',
    version: '1',
    statement: purpose,
    issuedAt: new Date(issuedAt),
  })
  assert.equal(own, expected)
})
