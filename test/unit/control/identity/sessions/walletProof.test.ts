// Goal: strangers who send wrong signatures faster than they can be checked keep nobody from signing in.
import assert from 'node:assert/strict'
import test from 'node:test'
import type { Hex } from 'viem'
import { createSiweMessage } from 'viem/siwe'
import { GatewayError } from '../../../../../contract/errors/errors.ts'
import { WalletProofs } from '../../../../../control/identity/sessions/walletProof.ts'
import { newWallet } from '../../../../support/clients/apiClient.ts'
import { limitsWith } from '../../../../support/limits.ts'

const FLOOD = 24
const [STRANGER, VICTIM] = ['10.0.0.1', '10.0.0.2']

/** Checks signatures with nonces that are all in force. */
function newProofs(): WalletProofs {
  const limits = limitsWith({ signatureCpuPercent: 20, signaturesWaitingMax: 4, signatureOverloadMs: 1 })
  const none = { publicUrl: undefined, contracts: undefined, chainId: undefined }
  const proofs = new WalletProofs({ db: { query: () => Promise.reject(new Error('no database')) }, ...none, limits })
  proofs.nonces.expiryOf = () => Promise.resolve(Date.now() + 60_000)
  return proofs
}

async function signed(): Promise<{ address: string; message: string; signature: Hex }> {
  const wallet = newWallet()
  const place = { domain: 'localhost', uri: 'http://localhost', version: '1', chainId: 1 } as const
  const message = createSiweMessage({ address: wallet.address, nonce: 'abcdefgh', ...place, issuedAt: new Date() })
  return { address: wallet.address.toLowerCase(), message, signature: await wallet.signMessage({ message }) }
}

test('under a flood of wrong signatures from one network, one from another network is checked', async () => {
  const proofs = newProofs()
  const messages = await Promise.all(Array.from({ length: FLOOD }, signed))
  const { signature: wrong } = await signed()
  const flood = messages.map(({ message }) => proofs.check(message, wrong, STRANGER).catch((error: unknown) => error))
  // From now on turns have been waited for longer than a burst may.
  await Promise.race(flood)
  const { address, message, signature } = await signed()
  const proof = await proofs.check(message, signature, VICTIM)
  assert.equal(proof.address, address)
  const codes = (await Promise.all(flood)).map((error) => (error instanceof GatewayError ? error.code : error))
  assert.deepEqual([...new Set(codes)].sort(), ['bad_signature', 'rate_limited'])
})
