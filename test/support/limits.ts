import { CONTRACT_LIMITS } from '../../contract/limits/limits.ts'
import { CONTROL_LIMITS, type Limits as ControlLimits, readLimits as readControlLimits } from '../../control/limits.ts'
import { PROXY_LIMITS, type Limits as ProxyLimits, readLimits as readProxyLimits } from '../../proxy/limits.ts'

export type LimitName = keyof ControlLimits | keyof ProxyLimits
export type LimitChanges = Readonly<Partial<Record<LimitName, number>>>

/** The limits of all parts, with changes. */
export function limitsWith(changes: LimitChanges): ControlLimits & ProxyLimits {
  return { ...readControlLimits(undefined), ...readProxyLimits(undefined), ...changes }
}

/** The limits of all parts as they are by default. */
export const limits = limitsWith({})

/** For tests of the book, which would wait for minutes else. */
export const ledgerLimits = limitsWith({
  settlementClaimIdleMs: 300,
  settlementRetryMs: 50,
  settlementBlockMs: 100,
  debitVoidMs: 500,
  debitCheckMs: 50,
  linkExpiryMs: 50,
  referralPayMs: 20,
  providerPayMs: 20,
  admissionPollMs: 20,
  admissionCheckMs: 50,
  orphanCheckMs: 50,
  heartbeatTimeoutMs: 600,
  orphanVoidMs: 900,
  ownerScanMs: 200,
  grantSweepMs: 50,
  grantsPerAccountMax: 5,
  auditRechecksMax: 3,
})

/** For batch jobs whose clock is set by hand. */
export const batchLimits = limitsWith({ batchCallPaceMs: 1 })

/** For holds of batch jobs that are lost. */
export const batchLostLimits = limitsWith({
  housekeepingMs: 50,
  batchOpenMs: 100,
  batchTickMs: 50,
  auditRechecksMax: 3,
  admissionPollMs: 20,
  batchPassMax: 2,
})

/** For payments over a chain of their own. A test of a node that does not answer takes the way to it down. */
export const paymentLimits = limitsWith({
  chainTimeoutMs: 8_000,
  chainSweepMs: 100,
  chainScanMs: 100,
  chainPollMs: 50,
  paymentMarginMs: 500,
  paymentCloseMs: 50,
  refundCheckMs: 50,
  replaceAfterMs: 500,
  gasPriceKeptMs: 100,
})

/** For payments where the payer's own transactions are given up after a moment, and one refund is looked at in a pass. */
export const paymentRaceLimits = { ...paymentLimits, payerTransactionMs: 1_500, refundBatchMax: 1 }

/** The text of SLUICE_LIMITS that makes these changes, each in the part that has the limit. */
export function limitsText(changes: LimitChanges): string {
  const within = (table: object) => Object.fromEntries(Object.entries(changes).filter(([name]) => name in table))
  return JSON.stringify({
    ...within(CONTRACT_LIMITS),
    proxy: within(PROXY_LIMITS),
    control: within(CONTROL_LIMITS),
  })
}
