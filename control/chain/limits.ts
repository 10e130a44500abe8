import type { LimitsOf } from '../../contract/limits/limits.ts'
import type { BookLimits } from '../book/limits.ts'

/** The limits of the chain's node and the gateway's transactions. */
export const CHAIN_LIMITS = {
  /** The time that the node has for an answer, in milliseconds. */
  chainTimeoutMs: 1_200,
  /** Calls to the node in one JSON-RPC batch. */
  chainBatchMax: 100,
  /** Interval of the checks whether the node answers, in milliseconds. */
  chainCheckMs: 5_000,
  /** Blocks with unread transfers above which the chain counts as behind. */
  chainUnreadBlocksMax: 100,
  /** The age of a transaction in no block above which the chain counts as behind, in milliseconds. */
  chainWaitingMs: 600_000,
  /** The longest interval between polls for the receipts of transactions, in milliseconds. */
  chainPollMs: 250,
  /** Interval of the checks of every transaction that is not final, in milliseconds. */
  chainSweepMs: 2_000,
  /** Transactions, and blocks, per poll at most. */
  chainSweepMax: 500,
  /** The highest price of gas that transactions are sent at, in gwei. */
  gasPriceMaxGwei: 500,
  /** The gas that a relayer must be able to pay for; below it no payment is offered. That of one payment, roughly. */
  paymentGasMin: 150_000,
  /** How long a price of gas is good, in milliseconds. */
  gasPriceKeptMs: 2_000,
  /** The gas of one transaction. */
  gasPerTransactionMax: 500_000,
  /** The age at which a transaction that is in no block is sent with a higher fee, in milliseconds. */
  replaceAfterMs: 30_000,
  /** How often a transaction is sent with a higher fee. */
  replacementsMax: 8,
  /** Interval of the reads of new blocks, in milliseconds. */
  chainScanMs: 2_000,
  /** Blocks that are read together. */
  chainScanBlocksMax: 1_000,
  /** Blocks that are searched for a transfer whose transaction has no receipt, the newest first. */
  chainSearchBlocksMax: 200_000,
  /** Blocks that are searched for a payment that another sender may have submitted. */
  chainLookbackBlocks: 1_000,
  /** How long a wallet that could not fund a payment is refused without asking the chain, in milliseconds. */
  paymentRefusalMs: 60_000,
  /** The age at which a transaction of a payer that is in no block is given up, in milliseconds. */
  payerTransactionMs: 600_000,
} as const

export type ChainLimits = LimitsOf<typeof CHAIN_LIMITS> & BookLimits
