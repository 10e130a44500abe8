import type { Client } from '../../runtime/db/pool.ts'

/** The result of signing the catalog in force. */
export type Signing =
  /** There is no catalog yet, or the last signed one has the same content and is valid for long enough. */
  | { readonly state: 'unchanged' }
  | { readonly state: 'signed'; readonly version: number }
  /** Another key signs the catalogs of this book; this one has to be named by it first. */
  | { readonly state: 'other_signer'; readonly signer: string; readonly key: string }

/** Signs the catalog in force, in the caller's transaction. Times are milliseconds since 1970. */
export type SignCatalog = (client: Client, nowMs: number) => Promise<Signing>
