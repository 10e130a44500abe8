import { createPublicKey, verify } from 'node:crypto'
import { verifyMessage } from 'viem'
import type { Signatures, SignerKeys } from './catalogKey.ts'

/** Whether both signatures of a text are by these keys. */
export async function verifySignatures(text: string, keys: SignerKeys, signatures: Signatures): Promise<boolean> {
  const x = Buffer.from(keys.ed25519, 'hex').toString('base64url')
  const key = createPublicKey({ key: { kty: 'OKP', crv: 'Ed25519', x }, format: 'jwk' })
  if (!verify(null, Buffer.from(text, 'utf8'), key, Buffer.from(signatures.ed25519, 'hex'))) return false
  try {
    return await verifyMessage({ address: keys.address, message: text, signature: signatures.eip191 })
  } catch {
    // The library throws for a malformed signature.
    return false
  }
}
