import { CLIENT_GONE, type ReceiptStatus } from './receiptStatus.ts'

/** Error codes of requests that failed because of the client: it disconnected, or the provider rejected its input. */
export const CLIENT_FAULTS: readonly string[] = [CLIENT_GONE, 'upstream_rejected', 'context_length_exceeded']

/** A request that was paid per call and has ended. Amounts are units. */
export interface EndedPaid {
  readonly units: number
  /** The smallest charge that the quote named. */
  readonly minUnits: number
  readonly costUnits: number
  readonly status: ReceiptStatus
  /** A code of the error table; empty or null when the request succeeded. */
  readonly errorCode: string | null
}

/** Whether a payment is refunded in full: nothing was served, and the client did not cause that. */
export function isRefundedWhole({ status, errorCode }: Pick<EndedPaid, 'status' | 'errorCode'>): boolean {
  return status !== 'ok' && status !== 'partial' && !CLIENT_FAULTS.includes(errorCode ?? '')
}

/** How far a paid request costs less than the smallest charge, in units; zero if the payment is refunded in full. */
export function settlementFee(ended: EndedPaid): number {
  if (isRefundedWhole(ended)) return 0
  const { units, minUnits, costUnits } = ended
  return Math.max(0, Math.min(units, minUnits) - costUnits)
}
