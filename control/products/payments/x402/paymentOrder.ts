import type { Hex } from 'viem'
import type { Address } from '../../../../contract/payments/address.ts'
import type { SignedPayment } from '../../../../contract/payments/signedPayment.ts'
import type { AssetId } from '../../../../contract/payments/terms.ts'
import type { ExpectedTransfer } from '../../../chain/outbox.ts'

/** A request that is to be paid and then served; its contents were checked against its quote. */
export interface PaymentOrder {
  readonly requestId: string
  readonly protocol: 'x402' | 'mpp'
  /** The proven signer of `payment`, or the sender of `transaction`. */
  readonly payer: Address
  readonly replayKey: string
  readonly asset: AssetId
  readonly transfer: ExpectedTransfer
  /** The worth that is credited for the transfer, and the part of it that is held for the request. */
  readonly units: number
  readonly holdUnits: number
  /** The smallest charge that the quote named, units. */
  readonly minUnits: number
  /** The proxy process that serves the request, and the contents of its hold and receipt. */
  readonly owner: string
  readonly model: string
  readonly endpoint: string
  readonly sheetVersion: number
  readonly streamed: boolean
  /** Of an MPP credential, else empty. */
  readonly challengeId: string
  /** The ERC-8004 agent that was named and is the payer's, or empty. */
  readonly agent: string
  /** By Redis's clock. */
  readonly serveByMs: number
  /** Absent when the payer sends the transaction. */
  readonly payment: SignedPayment | undefined
  /** The digest whose signature a contract has to confirm: only the contract can say whether it signed (ERC-1271). */
  readonly contractDigest: Hex | undefined
  /** A transaction that the payer has signed (`raw`), or has sent. */
  readonly transaction: { readonly hash: Hex; readonly raw: Hex | undefined } | undefined
  /** The client's address, or the /64 of an IPv6 address; see `clientNetwork`. */
  readonly clientNetwork: string
}

/**
 * The proof of the payer. `authorization`: a signature of a key, checked before. `contract`: only the contract can verify its
 * signature. `transaction`: a transaction of the payer.
 */
export type PaymentKind = 'authorization' | 'contract' | 'transaction'

export function kindOf({ payment, contractDigest }: Pick<PaymentOrder, 'payment' | 'contractDigest'>): PaymentKind {
  if (payment === undefined) return 'transaction'
  return contractDigest === undefined ? 'authorization' : 'contract'
}
