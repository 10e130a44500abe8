/** Ledger accounts of the gateway itself; migrations open them. */
export const REVENUE = 'revenue'
export const PAYMENTS_IN = 'payments_in'
/** Costs of serving that the gateway pays itself, such as shares of registered providers. */
export const PROVIDER_COST = 'provider_cost'
export const HOUSE = 'house'
export const ESCROW = 'escrow'
/** Escrow of coin, where ESCROW is of US dollars. */
export const ESCROW_COIN = 'escrow_coin'
/** Coin that holders have earned and that is neither sent to the distributor nor credited. */
export const REWARDS = 'rewards'
/** Coin of the revenue that is not sent to the vault yet. */
export const VAULT = 'vault'

const UNPAID = 'revenue_unpaid'
/** Whether a ledger account has the charges of a shard, paid or not. */
export const hasCharges = (id: string): boolean => id.startsWith(`${REVENUE}:`) || id.startsWith(`${UNPAID}:`)

/** The revenue from requests of one shard, so that shards which are booked concurrently do not wait for each other. */
export const revenueOfShard = (shard: number): string => `${REVENUE}:${String(shard).padStart(2, '0')}`
/** The charges of one shard that nobody paid: free credits and the house. No share is taken of them. */
export const unpaidOfShard = (shard: number): string => `${UNPAID}:${String(shard).padStart(2, '0')}`
/** The ledger account of a customer's coin. */
export const coinAccount = (accountId: string): string => `coin:${accountId}`
/** The ledger account of the part of a wallet's payments in one asset that paid requests left over and that was not refunded. */
export const payerCreditAccount = (payer: string, asset: string): string => `payer_credit:${payer}:${asset}`
/** The ledger account of one credit grant. */
export const grantAccount = (grantId: string): string => `grant:${grantId}`

/** Coin of open bids for tokens of compute locks. */
export const ESCROW_LOCKS = 'escrow_locks'
/** The gateway itself as a holder and trader of tokens. */
export const LOCK_OPERATOR = 'operator'
/** The tokens of a series that an account holds, in units at the locked price. */
export const holdingAccount = (seriesId: string, accountId: string): string => `lock:${seriesId}:${accountId}`
/** The tokens of a series that are offered in open orders. */
export const lockEscrowAccount = (seriesId: string): string => `lock_escrow:${seriesId}`
/** The other side of a series' tokens: issued tokens are taken from it, burnt tokens return to it. */
export const lockIssuedAccount = (seriesId: string): string => `lock_issued:${seriesId}`
/** The tokens of a series that were withdrawn to wallets and not redeemed. */
export const lockOnchainAccount = (seriesId: string): string => `lock_onchain:${seriesId}`
/** Coin that the gateway sold tokens of a series for, as long as they are neither burnt nor expired. */
export const lockUnearnedAccount = (seriesId: string): string => `lock_unearned:${seriesId}`

const LOCK_ID = 'lock_'
/** Whether a pot of an account is a holding, by its id. */
export const isLockId = (potId: string): boolean => potId.startsWith(LOCK_ID)
/** The ledger account of one pot other than coin: a holding, or a credit grant. */
export const potAccount = (potId: string, accountId: string): string =>
  isLockId(potId) ? holdingAccount(potId, accountId) : grantAccount(potId)
