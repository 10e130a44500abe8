import secp256k1 from 'secp256k1'
import { keccak256 } from 'viem'
import { type KeySignature, readSignature } from './signature.ts'
import type { SignedPayment } from './signedPayment.ts'
import { challengeHash, paymentDigest } from './typedData.ts'

type Hex = `0x${string}`

/**
 * What a payment's signature proves. `signed`: the key of `from` signed it. `contract`: no key did, so only a contract
 * at `from` can say (ERC-1271); `digest` is what it is asked about. `refused`: nobody can have.
 */
export type Verdict =
  | { readonly kind: 'signed'; readonly signature: Hex }
  | { readonly kind: 'contract'; readonly signature: Hex; readonly digest: Hex }
  | { readonly kind: 'refused'; readonly reason: 'counterfactual' | 'malformed' | 'malleable' | 'challenge' }

/** A payment to check; one that answers an MPP challenge has to name it in what is signed. */
export interface PaymentCheck {
  readonly payment: SignedPayment
  readonly challenge?: { readonly id: string; readonly realm: string }
}

/** The address whose key made a signature; undefined when none can have. */
function recoverSigner(digest: Hex, signature: KeySignature): Hex | undefined {
  const bytes = Buffer.from(signature.bytes.slice(2), 'hex')
  try {
    const key = secp256k1.ecdsaRecover(
      bytes.subarray(0, 64),
      signature.recoveryId,
      Buffer.from(digest.slice(2), 'hex'),
      false,
    )
    return `0x${keccak256(key.subarray(1)).slice(26)}`
  } catch {
    return undefined
  }
}

/** Checks the signature of a payment; takes a recovery of secp256k1, so many at once belong on a thread. */
export function verdictOf({ payment, challenge }: PaymentCheck): Verdict {
  if (challenge !== undefined && !answers(payment, challengeHash(challenge.id, challenge.realm))) {
    return { kind: 'refused', reason: 'challenge' }
  }
  const signature = readSignature(payment.signature)
  if (signature.kind === 'counterfactual' || signature.kind === 'malformed') {
    return { kind: 'refused', reason: signature.kind }
  }
  const digest = paymentDigest(payment)
  if (signature.kind === 'key' && recoverSigner(digest, signature) === payment.from) {
    // What the contract takes: tokens refuse the twin with the other s, Permit2 does not.
    if (signature.highS && payment.method === 'eip3009') return { kind: 'refused', reason: 'malleable' }
    return { kind: 'signed', signature: signature.bytes }
  }
  return { kind: 'contract', signature: payment.signature, digest }
}

function answers(payment: SignedPayment, hash: Hex): boolean {
  if (payment.method === 'eip3009') return payment.nonce === hash
  return payment.method === 'mpp-permit2' && payment.challengeHash === hash
}
