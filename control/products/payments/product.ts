import type { Product } from '../../api/product.ts'
import { transactionGauges } from '../../chain/transactionGauges.ts'
import { accountOfWallet } from '../../identity/wallets/wallets.ts'
import { depositHandlers } from './depositHandlers.ts'
import { depositOutcome } from './deposits/depositOutcome.ts'
import { flowHandlers } from './flows/flowHandlers.ts'
import { startPayments } from './onChain.ts'
import { payerCreditHandlers } from './payerCreditHandlers.ts'
import { paymentGauges } from './paymentGauges.ts'
import { paymentHandlers } from './paymentHandlers.ts'
import { Payments } from './payments.ts'
import { allowRefundAttempts } from './refunds/refundAttempts.ts'
import { refundOutcome } from './refunds/refunds.ts'
import { withdrawalHandlers } from './withdrawalHandlers.ts'
import { allowWithdrawalAttempts } from './withdrawals/withdrawalRow.ts'
import { withdrawalOutcome } from './withdrawals/withdrawals.ts'
import { paymentOutcome } from './x402/paymentOutcome.ts'
import { RefusalCounts } from './x402/refusalCounts.ts'

/** Payments for single requests, deposits, refunds and withdrawals. */
export const PAYMENTS: Product = {
  name: 'payments',
  outcomes: {
    payment: paymentOutcome,
    refund: refundOutcome,
    deposit: depositOutcome,
    withdrawal: withdrawalOutcome,
  },
  onChain: startPayments,
  allowAttempts: async (client, id, limits) =>
    (await allowWithdrawalAttempts(client, id, limits.withdrawalAttemptsMax)) ||
    (await allowRefundAttempts(client, id, limits.refundAttemptsMax)),
  make: ({ pool, redis, log, debits, chain, chainState, limits }) => {
    const refusals = new RefusalCounts(log, limits)
    const payments = chain && new Payments(chain, refusals)
    const parts = { pool, debits, payments, accountOfWallet, limits }
    return {
      handlers: {
        ...depositHandlers(parts),
        ...payerCreditHandlers(parts),
        ...withdrawalHandlers(parts),
        ...flowHandlers(pool, limits),
      },
      rpc: paymentHandlers(payments, chainState, redis, limits),
      onBooked: () => payments?.onBooked(),
      gauges: chain && [paymentGauges(pool), transactionGauges(pool)],
      totals: chain && [refusals.total],
      stop: async () => refusals.summarize(),
    }
  },
}
