import { grantAccount, HOUSE, revenueOfShard, unpaidOfShard } from './accounts.ts'

const GRANTS = grantAccount('')

/**
 * Whether a charge was paid in coin or stablecoin, by the ledger account that it debits. Free credits pay nothing, and the house
 * bears what a balance lacks. Everything that is shared in coin (rewards, the vault, referrals, registered providers) is shared
 * of paid charges alone; otherwise credits would become coin of the account that has a share.
 */
export const isPaid = (debit: string): boolean => !debit.startsWith(GRANTS) && debit !== HOUSE

/** The same as SQL. @param debit SQL of the ledger account */
export const paidSql = (debit: string): string => `(NOT starts_with(${debit}, '${GRANTS}') AND ${debit} <> '${HOUSE}')`

/** The ledger account that a charge of a shard is credited to, by the one that it debits. */
export const chargeCredit = (debit: string, shard: number): string =>
  isPaid(debit) ? revenueOfShard(shard) : unpaidOfShard(shard)
