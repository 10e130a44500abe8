import type { PaymentTerms } from '../../../contract/payments/terms.ts'
import type { PaymentsConfig } from '../../chain/paymentsConfig.ts'
import type { Deposits } from './deposits/deposits.ts'
import type { Withdrawer } from './withdrawals/withdrawals.ts'
import type { PaymentOrder } from './x402/paymentOrder.ts'
import type { RefusalCounts } from './x402/refusalCounts.ts'
import type { Settled } from './x402/settler.ts'

/**
 * Payments, deposits and withdrawals as their handlers see them. Members that need the chain throw GatewayError
 * chain_unavailable until it has answered for the first time, and funds_lease while another control may still send.
 */
export interface ChainMoney {
  readonly terms: PaymentTerms
  readonly config: PaymentsConfig
  readonly deposits: Deposits
  readonly withdrawer: Withdrawer
  readonly refusals: RefusalCounts
  /** Makes a payment and takes the hold of its request; see PaymentSettler. */
  settle(order: PaymentOrder, waitMs: number): Promise<Settled>
}
