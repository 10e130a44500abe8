import { CONTRACT_LIMITS } from '../../contract/limits/limits.ts'
import { CONTROL_LIMITS, type Limits as ControlLimits, readLimits as readControlLimits } from '../../control/limits.ts'
import { PROXY_LIMITS, type Limits as ProxyLimits, readLimits as readProxyLimits } from '../../proxy/limits.ts'

export type LimitName = keyof ControlLimits | keyof ProxyLimits
export type LimitChanges = Readonly<Partial<Record<LimitName, number>>>

/**
 * Deadlines after which the gateway refuses, as it should, because one of its parts stands still. A machine that runs tests
 * lets any of them stand still for seconds; a test that is about one of these deadlines sets it.
 */
export const PATIENCE = {
  apiTimeoutMs: 40_000,
  redisTimeoutMs: 10_000,
  rpcTimeoutMs: 10_000,
  estimateTimeoutMs: 30_000,
  receiptWaitMs: 15_000,
  admissionApplyMs: 5_000,
  admissionCommandMs: 20_000,
  chainTimeoutMs: 8_000,
  debitTakeMs: 5_000,
  providerCheckMs: 5_000,
  receiptAskMs: 20_000,
  recallWaitMs: 2_000,
  databaseConnectMs: 20_000,
  settleTimeoutMs: 8_000,
  workerReportMs: 5_000,
} as const satisfies LimitChanges

/** The limits of all parts, with changes. Parts that a test runs by themselves wait for a connection as those of stacks do. */
export function limitsWith(changes: LimitChanges): ControlLimits & ProxyLimits {
  const { databaseConnectMs } = PATIENCE
  return { ...readControlLimits(undefined), ...readProxyLimits(undefined), databaseConnectMs, ...changes }
}

/** The limits of all parts as they are by default, but for that wait. */
export const limits = limitsWith({})

/** For tests of the book, which would wait for minutes else. */
export const ledgerLimits = limitsWith({
  debitTakeMs: 5_000,
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

/** SLUICE_LIMITS of a program that a test starts as its users do. @param text what is set for it already */
export function patientLimits(text = '{}'): string {
  const given = JSON.parse(text) as Readonly<Record<string, object>>
  const patient = JSON.parse(limitsText(PATIENCE)) as Readonly<Record<string, object>>
  const within = (part: string) => ({ [part]: { ...patient[part], ...given[part] } })
  return JSON.stringify({ ...patient, ...given, ...within('proxy'), ...within('control') })
}
