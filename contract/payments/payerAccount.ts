import type { Address } from './address.ts'

const PREFIX = 'payer_'

/**
 * The ledger account of a payer, and the key that its receipts name. It follows from the address alone, so that the
 * proxy knows it before control has seen the payer.
 */
export function payerAccountId(payer: Address): string {
  return PREFIX + payer
}

/** Whether an account or a key is that of a payer. */
export function isPayer(id: string): boolean {
  return id.startsWith(PREFIX)
}
