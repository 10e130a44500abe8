/**
 * The state of the chain that payments are made on: `behind` when its node or the book lacks blocks, or transactions wait
 * long for a block; `not_configured` when the operator has named no chain.
 */
export const CHAIN_HEALTHS = ['ok', 'behind', 'unavailable', 'not_configured'] as const
export type ChainHealth = (typeof CHAIN_HEALTHS)[number]

/** Whether withdrawals are accepted: `paused` unless the reserve is known to cover the liabilities. */
export const WITHDRAWAL_STATES = ['open', 'paused', 'not_configured'] as const
export type WithdrawalState = (typeof WITHDRAWAL_STATES)[number]

/**
 * Whether payments can be made: the one value that quotes, /health and /v1/status go by. `unavailable` for every reason for which
 * control would refuse a payment: the book is bound to another chain, the node does not answer, gas is too dear or missing.
 */
export const PAYMENT_STATES = ['open', 'unavailable', 'not_configured'] as const
export type PaymentState = (typeof PAYMENT_STATES)[number]
