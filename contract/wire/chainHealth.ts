/**
 * The state of the chain that payments are made on; `behind` where its node or the book lacks blocks, or transactions wait long
 * for one, and `not_configured` where the operator has named none.
 */
export const CHAIN_HEALTHS = ['ok', 'behind', 'unavailable', 'not_configured'] as const
export type ChainHealth = (typeof CHAIN_HEALTHS)[number]

/** Whether withdrawals are taken: paused while the reserve is not known to cover what is owed. */
export const WITHDRAWAL_STATES = ['open', 'paused', 'not_configured'] as const
export type WithdrawalState = (typeof WITHDRAWAL_STATES)[number]
