import type { Hex } from 'viem'
import type { Address } from '../../../contract/payments/address.ts'
import type { SignedPayment } from '../../../contract/payments/signedPayment.ts'
import type { AssetId } from '../../../contract/payments/terms.ts'
import type { ExpectedTransfer } from '../chain/outbox.ts'
import type { Protocol } from './paymentRow.ts'

/** A request that is to be paid and then served; what is in it was checked against its quote. */
export interface PaymentOrder {
  readonly requestId: string
  readonly protocol: Protocol
  /** The proven signer of `payment`, or who sent `transaction`. */
  readonly payer: Address
  readonly replayKey: string
  readonly asset: AssetId
  readonly transfer: ExpectedTransfer
  /** What the transfer is credited as, and what of it is held for the request. */
  readonly units: number
  readonly holdUnits: number
  /** The smallest charge that the quote named, units. */
  readonly minUnits: number
  /** The proxy process that serves the request, and what its hold and receipt say. */
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
  /** What a contract has to be asked about: only it can say whether it signed (ERC-1271). */
  readonly contractDigest: Hex | undefined
  /** A transaction that the payer has signed (`raw`), or has sent. */
  readonly transaction: { readonly hash: Hex; readonly raw: Hex | undefined } | undefined
  /** The client's address, or the /64 of an IPv6 address; see `clientNetwork`. */
  readonly clientNetwork: string
}

/**
 * What proves who pays. `authorization`: a key has signed, which was checked before. `contract`: only the contract can
 * say. `transaction`: one of the payer's own.
 */
export type PaymentKind = 'authorization' | 'contract' | 'transaction'

export function kindOf({ payment, contractDigest }: Pick<PaymentOrder, 'payment' | 'contractDigest'>): PaymentKind {
  if (payment === undefined) return 'transaction'
  return contractDigest === undefined ? 'authorization' : 'contract'
}
