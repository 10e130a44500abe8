import assert from 'node:assert/strict'
import { createHash } from 'node:crypto'
import test from 'node:test'
import { keccak256, recoverAddress, stringToHex } from 'viem'
import { EXACT_PROXY_ADDRESS } from '../../../contract/payments/addresses.ts'
import {
  bodyDigest,
  canonicalText,
  challengeHeader,
  isOurChallenge,
  newChallenge,
  readCredential,
} from '../../../contract/payments/mpp.ts'
import { readSignature } from '../../../contract/payments/signature.ts'
import { type Eip3009Payment, type Permit2Payment, replayKey } from '../../../contract/payments/signedPayment.ts'
import { challengeHash, MPP_WITNESS_TYPE, paymentDigest } from '../../../contract/payments/typedData.ts'

// The vectors were made with independent packages: viem 2.57.0 and mppx 0.11.0.
const SIGNER = '0x70997970C51812dc3A010C7d01b50e0d17dc79C8'
const TO = '0x3c44cdddb6a900fa2b585dd299e03d12fa4293bc'

const EIP3009: Eip3009Payment = {
  method: 'eip3009',
  chainId: 31_337,
  token: '0x5fbdb2315678afecb367f032d93f642f64180aa3',
  name: 'USD Coin',
  version: '2',
  from: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
  to: TO,
  value: 10_000n,
  validAfter: 0n,
  validBefore: 1_893_456_000n,
  nonce: `0x${'11'.repeat(32)}`,
  signature:
    '0x40b1b1aefd5b691173277fa089b8c7e828e3c73fd5779af90dd1f883731677e172b4ca06353dbf577264c21d7271c4f8dfde1230214153a90193d9357ccf2b061c',
}

const PERMIT2_PAYMENT: Permit2Payment = {
  method: 'permit2',
  chainId: 31_337,
  token: '0xe7f1725e7734ce288f8367e1bb143e90bb3f0512',
  from: '0x70997970c51812dc3a010c7d01b50e0d17dc79c8',
  to: TO,
  value: 1_000_000_000_000_000n,
  validAfter: 0n,
  deadline: 1_893_456_000n,
  nonce: 7n,
  spender: EXACT_PROXY_ADDRESS,
  signature:
    '0x5c158075891278e0b0abe97ce3b8b7061c46638ba033fb6f7559e913b26f33ae5d5c87fbb1ae4ba5cbac0723cca2872a08e18a9266d33601936b1302db99e35a1c',
}

test('EIP-3009: digest and signer', async () => {
  const digest = paymentDigest(EIP3009)
  assert.equal(digest, '0xf4ce5cfed1ada5faa98ef3a9fae5f3ce0899c515c628c7c7e44ff928ad7e6ffe')
  assert.equal(await recoverAddress({ hash: digest, signature: EIP3009.signature }), SIGNER)
})

test('Permit2 with the witness of x402: digest and signer', async () => {
  const digest = paymentDigest(PERMIT2_PAYMENT)
  assert.equal(digest, '0xdd2424bda1c2bd3bf88a7302e755fda21055264dde5882b90f01266be58edf4a')
  assert.equal(await recoverAddress({ hash: digest, signature: PERMIT2_PAYMENT.signature }), SIGNER)
})

test('the witness type of MPP gives the canonical type hash', () => {
  const stub = 'PermitWitnessTransferFrom(TokenPermissions permitted,address spender,uint256 nonce,uint256 deadline,'
  assert.equal(
    keccak256(stringToHex(stub + MPP_WITNESS_TYPE)),
    '0xcf76816a522860b566861905fafd1216b00240b3a3a0989155743ec1cedad308',
  )
})

const SECRET = Buffer.from('test-secret')
const REQUEST = canonicalText({
  recipient: '0x3C44CdDdB6a900fa2b585dd299e03d12FA4293BC',
  methodDetails: { decimals: 6, chainId: 31337, credentialTypes: ['authorization'] },
  currency: '0x5FbDB2315678afecb367f032d93F642f64180aa3',
  amount: '10000',
})

test('MPP: the id of a challenge', () => {
  const digest = bodyDigest(createHash('sha256').update('{}').digest())
  assert.equal(digest, 'sha-256=:RBNvo1WzZ4oRRq0W9+hknpT7T8If536DEMBg9hyq/4o=:')
  const opaque = canonicalText({ rid: 'req_1' })
  assert.equal(opaque, 'eyJyaWQiOiJyZXFfMSJ9')
  const members = { realm: 'gw.example', request: REQUEST, expires: '2030-01-01T00:00:00Z', digest, opaque }
  const challenge = newChallenge(SECRET, members)
  assert.equal(challenge.id, 'T26rau8t3DO3E-0pGbY_sR5I5c4uBwUsVbDX4Y8x5VM')
  assert.ok(isOurChallenge(SECRET, challenge))
  const bare = newChallenge(SECRET, { ...members, expires: '', digest: '', opaque: '' })
  assert.equal(bare.id, 'o9DWmxjq0BC7sYgNM1MA3gJEMb4tvwtn49WeXpWgLYc')
  for (const changed of ['realm', 'method', 'intent', 'request', 'expires', 'digest', 'opaque', 'id'] as const) {
    assert.equal(isOurChallenge(SECRET, { ...challenge, [changed]: `${challenge[changed]}x` }), false, changed)
  }
  assert.match(
    challengeHeader(challenge),
    /^Payment id="T26rau8t3DO3E-0pGbY_sR5I5c4uBwUsVbDX4Y8x5VM", realm="gw.example",/,
  )
})

test('MPP: the hash that names a challenge', () => {
  assert.equal(
    challengeHash('T26rau8t3DO3E-0pGbY_sR5I5c4uBwUsVbDX4Y8x5VM', 'gw.example'),
    '0x810674ab4fd4f397eeeff4a75c115ee54abadb3df1d96dc843174a692dbfc121',
  )
})

test('MPP: a credential needs challenge, payload and source', () => {
  const challenge = newChallenge(SECRET, { realm: 'r', request: REQUEST, expires: '', digest: '', opaque: '' })
  const encode = (value: unknown) => `Payment ${Buffer.from(JSON.stringify(value)).toString('base64url')}`
  const whole = { challenge, payload: { type: 'authorization' }, source: 'did:pkh:eip155:1:0x' }
  assert.deepEqual(readCredential(encode(whole), 10_000)?.challenge, challenge)
  assert.deepEqual(readCredential(encode(whole).replace('Payment', 'PAYMENT'), 10_000)?.payload, {
    type: 'authorization',
  })
  for (const member of ['challenge', 'payload', 'source'] as const) {
    assert.equal(readCredential(encode({ ...whole, [member]: undefined }), 10_000), undefined, member)
  }
  assert.equal(readCredential(encode(whole), 100), undefined)
  assert.equal(readCredential('Payment e30=', 10_000), undefined)
  assert.equal(readCredential('Payment %%%', 10_000), undefined)
})

test('signatures: normal form, high s, contracts, counterfactual ones', () => {
  const order = 0xfffffffffffffffffffffffffffffffebaaedce6af48a03bbfd25e8cd0364141n
  const { signature } = EIP3009
  const read = readSignature(signature)
  assert.deepEqual(read, { kind: 'key', bytes: signature, recoveryId: 1, highS: false })
  assert.deepEqual(readSignature(`${signature.slice(0, -2)}01` as `0x${string}`), read)
  const s = BigInt(`0x${signature.slice(66, 130)}`)
  const twin = `${signature.slice(0, 66)}${(order - s).toString(16).padStart(64, '0')}1b` as `0x${string}`
  assert.deepEqual(readSignature(twin), { ...read, highS: true })
  assert.deepEqual(readSignature(`${signature.slice(0, -2)}1d` as `0x${string}`).kind, 'contract')
  assert.deepEqual(readSignature(`0x${'00'.repeat(65)}`).kind, 'contract')
  assert.deepEqual(readSignature(`0x${'12'.repeat(64)}`).kind, 'contract')
  assert.deepEqual(readSignature(`${signature}${'6492'.repeat(16)}` as `0x${string}`).kind, 'counterfactual')
  assert.deepEqual(readSignature('0x').kind, 'malformed')
})

test('the replay key excludes the signature, and equal Permit2 nonces in any notation are one', () => {
  assert.equal(replayKey(EIP3009), replayKey({ ...EIP3009, signature: '0x00' }))
  assert.notEqual(replayKey(EIP3009), replayKey({ ...EIP3009, nonce: `0x${'12'.repeat(32)}` }))
  assert.notEqual(replayKey(PERMIT2_PAYMENT), replayKey({ ...PERMIT2_PAYMENT, nonce: 8n }))
  assert.equal(replayKey(PERMIT2_PAYMENT), replayKey({ ...PERMIT2_PAYMENT, token: TO }))
})
