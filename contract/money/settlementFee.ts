import type { ReceiptStatus } from './receiptStatus.ts'

/** Codes of requests that ended by what their client did: it left, or its input was refused by the provider. */
export const CLIENT_FAULTS: readonly string[] = ['client_gone', 'upstream_rejected', 'context_length_exceeded']

/** A request that was paid for by itself and has ended. Amounts are units. */
export interface EndedPaid {
  readonly units: number
  /** The smallest charge that the quote named. */
  readonly minUnits: number
  readonly costUnits: number
  readonly status: ReceiptStatus
  /** A code of the error table; empty or null when the request went well. */
  readonly errorCode: string | null
}

/** Whether a payment goes back whole: nothing was served, and not by what its client did. */
export function isRefundedWhole({ status, errorCode }: Pick<EndedPaid, 'status' | 'errorCode'>): boolean {
  return status !== 'ok' && status !== 'partial' && !CLIENT_FAULTS.includes(errorCode ?? '')
}

/** How far a paid request costs less than the smallest charge, in units; zero if the payment is refunded in full. */
export function settlementFee(ended: EndedPaid): number {
  if (isRefundedWhole(ended)) return 0
  const { units, minUnits, costUnits } = ended
  return Math.max(0, Math.min(units, minUnits) - costUnits)
}
