/** The limits of everything on the chain: payments, deposits, withdrawals, refunds. */
export const ONCHAIN_LIMITS = {
  // The node and the treasury's transactions.
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
  /** The time from one reading of new blocks to the next, in milliseconds. */
  chainScanMs: 2_000,
  /** Blocks that are read at once. */
  chainScanBlocksMax: 1_000,
  /** Blocks that are searched for a transfer whose transaction has no receipt, the newest first. */
  chainSearchBlocksMax: 200_000,
  /** Blocks that are searched for a payment that another sender may have submitted. */
  chainLookbackBlocks: 1_000,

  // Payments.
  /** Payments by transaction of the payer that settle at once. */
  payerTransactionsInFlightMax: 64,
  /** Signed authorizations that are checked on the chain at once before they settle. */
  paymentChecksMax: 256,
  /** Signatures of contract wallets that are checked on the chain at once. */
  contractChecksMax: 16,
  /** Transactions of payers that are checked on the chain at once. */
  payerTransactionChecksMax: 32,
  /** Payers that have paid before and whose checks do not count against a network. */
  trustedPayersMax: 10_000,
  /** The time over which refused payments are summed up in one line of the log, in milliseconds. */
  paymentRefusalLogMs: 10_000,
  /** How long a wallet that could not fund a payment is refused without asking the chain, in milliseconds. */
  paymentRefusalMs: 60_000,
  /** The age at which a transaction of a payer that is in no block is given up, in milliseconds. */
  payerTransactionMs: 600_000,
  /** A signed transaction of a payer, in bytes. */
  payerTransactionBytesMax: 4_096,
  /** Interval of the polls for payments whose request has ended, in milliseconds. */
  paymentCloseMs: 250,
  /** Payments per poll at most. */
  paymentCloseMax: 500,

  // Refunds, deposits and withdrawals.
  /** Interval of the polls for refunds to send, in milliseconds. */
  refundCheckMs: 1_000,
  /** Refunds per poll at most. */
  refundBatchMax: 50,
  /** Payments that one refund gives back. */
  refundPaymentsMax: 1_000,
  /** How often a refund that failed in its block is sent. */
  refundAttemptsMax: 5,
  /** How long a refund that its token refuses rests, in milliseconds. */
  refundRefusedMs: 60_000,
  /** Interval of the checks of the deposits by authorization, in milliseconds. */
  depositCheckMs: 1_000,
  /** Deposits per poll at most. */
  depositCheckMax: 50,
  /** The signature of a deposit, in bytes. */
  depositSignatureBytesMax: 2_048,
  /** How often a withdrawal that failed in its block is sent without an operator. */
  withdrawalAttemptsMax: 5,
  /** The same for a share of the revenue to holders or the vault. */
  payoutAttemptsMax: 5,
  /** Interval of the polls for withdrawals to send, in milliseconds. */
  withdrawalCheckMs: 1_000,
  /** Withdrawals per poll at most. */
  withdrawalBatchMax: 50,

  /** Transactions per withdrawal of compute lock tokens at most; after that the tokens return to the holding. */
  lockMintAttemptsMax: 3,
  /** The gas of one mint, with its margin: about what a wallet without code needs. */
  lockMintGasMax: 200_000,
  /** Pause of the mints after the contract was missing or had another minter, in milliseconds. */
  lockMintRefusedMs: 60_000,
  /** Redemptions of compute lock tokens per poll at most. */
  lockRedemptionBatchMax: 50,

  // Settlement batches.
  /** Intervals that a settlement batch waits for receipts of enough accounts, at most. */
  settlementWaitIntervals: 24,
  /** Interval of the checks whether a settlement batch is due, in milliseconds. */
  settlementCheckMs: 2_000,
  /** Receipts whose charges are added up at once. */
  settlementSumReceipts: 10_000,
  /** Batches, from the last one back, that the chain may have taken back. */
  settlementsReorgMax: 100,
  /** How long a batch rests that its contract does not take, in milliseconds. */
  settlementRefusedMs: 60_000,

  // Shares of the revenue.
  /** Interval of the checks whether a share of the revenue is due, or waits to be sent, in milliseconds. */
  revenueCheckMs: 2_000,
  /** How long after its end a period is closed, so that all that was being booked then is in the book, in milliseconds. */
  revenueCloseDelayMs: 60_000,
  /** How long a call rests that its contract does not take, in milliseconds. */
  revenueRefusedMs: 60_000,
  /** Holders that share a reward. */
  rewardHoldersMax: 200_000,
  /** Hashes of the tree of rewards after which other work has its turn. */
  rewardHashesPerTurn: 500,
  /** Rewards that the answer about a holder lists. */
  rewardClaimsShown: 100,
  /** Deposits of revenue that the answer about the vault lists. */
  vaultDepositsShown: 100,
  // The reserve.
  /** Interval of the checks whether the reserve is to be read, in milliseconds. */
  reserveCheckMs: 1_000,
  /** The time from one reading of the reserve to the next, in milliseconds. */
  reserveReadMs: 60_000,
  /** The same while less is held than owed, in milliseconds. */
  reserveRecheckMs: 5_000,
  /** Readings in a row that find less held than owed, from which on withdrawals pause. */
  reserveShortReadings: 2,
  /** The age of the last reading above which withdrawals pause, in milliseconds. */
  reserveReadingMaxMs: 300_000,
  /** Interval of the checks whether an attestation is due, in milliseconds. */
  attestationCheckMs: 5_000,
  /** Accounts that are read at once for an attestation. */
  attestationRowsMax: 500,
  /** The time that an attestation waits for a moment without a transfer, in milliseconds. */
  attestationLockMs: 2_000,
  /** How long the command line waits for an attestation that it asks for, in milliseconds. */
  attestationWaitMs: 60_000,
  /** Attestations, from the last one back, whose trees are kept. */
  attestationTreesKept: 7,
} as const
