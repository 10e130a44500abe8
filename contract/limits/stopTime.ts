import type { ContractLimits } from './limits.ts'

const MARGIN_MS = 2_000

/**
 * The longest that a worker of the proxy may take to leave, in milliseconds: load balancers get their notice, its streams
 * end or are cut, the other workers are waited for, and the last settlements are delivered. A process manager has to wait longer than this before it kills the
 * proxy.
 */
export function workerStopMaxMs(
  limits: Pick<ContractLimits, 'leaveNoticeMs' | 'drainGraceMs' | 'shutdownTimeoutMs' | 'settleTimeoutMs'>,
): number {
  return (
    limits.leaveNoticeMs + 2 * (limits.drainGraceMs + limits.shutdownTimeoutMs) + limits.settleTimeoutMs + MARGIN_MS
  )
}
