/** Ledger accounts of the gateway itself; migrations open them. */
export const REVENUE = 'revenue'
export const PAYMENTS_IN = 'payments_in'
/** What serving costs that the gateway pays itself, such as shares of registered providers. */
export const PROVIDER_COST = 'provider_cost'
export const HOUSE = 'house'
export const ESCROW = 'escrow'
/** Of coin that waits, where ESCROW is of US dollars. */
export const ESCROW_COIN = 'escrow_coin'

/** What the requests of a shard are charged goes here, so that shards which are booked at once do not wait for each other. */
export const revenueOfShard = (shard: number): string => `${REVENUE}:${String(shard).padStart(2, '0')}`
/** The ledger account of a customer's coin. */
export const coinAccount = (accountId: string): string => `coin:${accountId}`
/** The ledger account of what paid requests left of a wallet's payments in one asset, and what was not sent back. */
export const payerCreditAccount = (payer: string, asset: string): string => `payer_credit:${payer}:${asset}`
/** The ledger account of one credit grant. */
export const grantAccount = (grantId: string): string => `grant:${grantId}`
