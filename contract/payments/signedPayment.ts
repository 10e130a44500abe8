import type { Address } from './address.ts'

type Hex = `0x${string}`

/** EIP-3009 TransferWithAuthorization. https://eips.ethereum.org/EIPS/eip-3009 */
/** The members of every payment that a wallet signs. */
interface TokenPayment {
  readonly chainId: number
  readonly token: Address
  readonly from: Address
  readonly to: Address
  readonly value: bigint
  readonly signature: Hex
}

export interface Eip3009Payment extends TokenPayment {
  readonly method: 'eip3009'
  /** Of the token's EIP-712 domain. */
  readonly name: string
  readonly version: string
  /** Seconds since 1970. */
  readonly validAfter: bigint
  readonly validBefore: bigint
  readonly nonce: Hex
}

/** Permit2 SignatureTransfer with the witness of x402 `exact`. */
export interface Permit2Payment extends TokenPayment {
  readonly method: 'permit2'
  /** Seconds since 1970. */
  readonly validAfter: bigint
  readonly deadline: bigint
  readonly nonce: bigint
  readonly spender: Address
}

/** Permit2 SignatureTransfer of one token with the witness of MPP `charge`. */
export interface MppPermit2Payment extends TokenPayment {
  readonly method: 'mpp-permit2'
  readonly deadline: bigint
  readonly nonce: bigint
  readonly spender: Address
  /** keccak256 of the challenge's id and realm. */
  readonly challengeHash: Hex
  readonly externalId: string
}

/** A payment that moves by a signature of the payer. */
export type SignedPayment = Eip3009Payment | Permit2Payment | MppPermit2Payment

/** When a payment stops being valid on the chain, seconds since 1970. */
export function endOf(payment: SignedPayment): bigint {
  return payment.method === 'eip3009' ? payment.validBefore : payment.deadline
}

/** From when a payment is valid on the chain, seconds since 1970. */
export function beginOf(payment: SignedPayment): bigint {
  return payment.method === 'mpp-permit2' ? 0n : payment.validAfter
}

/**
 * The key by which a payment can be used once: the contract's own rule, in a normal form, so that "1" and "01" are equal.
 * The signature is not part of it, because signatures are malleable.
 */
export function replayKey(payment: SignedPayment): string {
  if (payment.method === 'eip3009') {
    return `eip3009:${payment.chainId}:${payment.token}:${payment.from}:${payment.nonce}`
  }
  return `permit2:${payment.chainId}:${payment.from}:${payment.nonce}`
}
