import type { Book } from '../parts/ledger.ts'

/** The book that corruptions are injected into. */
export interface Corrupted extends Book {
  /** An account that has charged receipts by coin and by a grant, and its key. */
  readonly accountId: string
  readonly keyId: string
  /** Another account with coin. */
  readonly otherId: string
  readonly otherKeyId: string
  readonly grantId: string
  /** A living proxy process that has delivered endings. */
  readonly proxyOwner: string
  /** The folder of the month that was put away. */
  readonly archiveDir: string
  /** Of the chain that the book is bound to. */
  readonly rpcUrl: string
}

/** What is done to the book, to Redis or to files behind the gateway's back. */
export interface Corruption {
  readonly name: string
  /** SQL that runs with all triggers off. */
  readonly sql?: (book: Corrupted) => string
  /** Done after it, to Redis or the files of archives. */
  readonly outside?: (book: Corrupted) => Promise<unknown>
  /** A check that has to name it, beside others that may. */
  readonly found: string
}
