import type { Queryable } from './pool.ts'

/**
 * The locks that transactions take until their end, in the order in which every one of them does so; docs/architecture/ledger.md
 * explains each. A transaction leaves out those that it does not need. Where it locks several of one kind, it locks them in the order of
 * their ids, or all of them by one statement, which does.
 */
export const LOCK_ORDER = [
  'migration',
  'receiptMonths',
  'publication',
  'statistics',
  'oldCheckpoints',
  'auditMark',
  'priceLists',
  'chainIdentity',
  'chainTransfers',
  'chainTransactions',
  'cursors',
  'usageRollups',
  'series',
  'links',
  'agents',
  'approvals',
  'accountRows',
  'referralNetworks',
  'keys',
  'providers',
  'providerAdmissions',
  'observations',
  'payments',
  'deposits',
  'withdrawals',
  'refunds',
  'payouts',
  'lockWithdrawals',
  'heads',
  'receipts',
  'transfers',
  'accounts',
  'ledgerAccounts',
  'proceeds',
  'keyUsage',
  'chainSenders',
] as const

export type LockKind = (typeof LOCK_ORDER)[number]

/** Called with the locks of transactions; tests check their order by it (test/support/lockWatch.ts). */
export interface LockWatch {
  /** Before the statement that takes them. */
  locks(client: Queryable, kind: LockKind, ids: readonly string[]): void
  /** After the statement that has inserted rows. */
  makes(client: Queryable, kind: LockKind, ids: readonly string[]): void
}

let watch: LockWatch | undefined

/** Has the locks of this process watched from now on. */
export function watchLocks(watching: LockWatch): void {
  watch = watching
}

/**
 * Says what the next statement on a connection locks until the end of its transaction.
 * @param ids of the rows; absent where the kind has one lock alone
 */
export function locking(client: Queryable, kind: LockKind, ids?: () => readonly string[]): void {
  if (watch !== undefined) watch.locks(client, kind, ids?.() ?? [''])
}

/** Says which rows a transaction has made: no other can lock them before it is committed, so that they have no order. */
export function making(client: Queryable, kind: LockKind, ids: () => readonly string[]): void {
  if (watch !== undefined) watch.makes(client, kind, ids())
}
