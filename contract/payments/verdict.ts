import { recoverSigner } from './recoverSigner.ts'
import { readSignature } from './signature.ts'
import type { SignedPayment } from './signedPayment.ts'
import { challengeHash, paymentDigest } from './typedData.ts'

type Hex = `0x${string}`

/**
 * The result of verifying a payment's signature. `signed`: the key of `from` signed it. `contract`: no key did, so only a
 * contract at `from` can decide (ERC-1271), by `digest`. `refused`: the signature is invalid for every signer.
 */
export type Verdict =
  | { readonly kind: 'signed'; readonly signature: Hex }
  | { readonly kind: 'contract'; readonly signature: Hex; readonly digest: Hex }
  | { readonly kind: 'refused'; readonly reason: 'counterfactual' | 'malformed' | 'malleable' | 'challenge' }

/** A payment to check; one that answers an MPP challenge has to name it in the signed message. */
export interface PaymentCheck {
  readonly payment: SignedPayment
  readonly challenge?: { readonly id: string; readonly realm: string }
}

/** Checks the signature of a payment; takes a recovery of secp256k1, so a batch of them belongs on a thread. */
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
    // The rule of the contracts: tokens reject the malleable twin with the high s, Permit2 does not.
    if (signature.highS && payment.method === 'eip3009') return { kind: 'refused', reason: 'malleable' }
    return { kind: 'signed', signature: signature.bytes }
  }
  return { kind: 'contract', signature: payment.signature, digest }
}

function answers(payment: SignedPayment, hash: Hex): boolean {
  if (payment.method === 'eip3009') return payment.nonce === hash
  return payment.method === 'mpp-permit2' && payment.challengeHash === hash
}
