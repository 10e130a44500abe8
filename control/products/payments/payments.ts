import type { PaymentTerms } from '../../../contract/payments/terms.ts'
import type { ChainService } from '../../chain/chainService.ts'
import type { PaymentsConfig } from '../../chain/paymentsConfig.ts'
import type { Deposits } from './deposits/deposits.ts'
import { PAYMENTS_ON_CHAIN, type PaymentsOnChain } from './onChain.ts'
import type { Withdrawer } from './withdrawals/withdrawals.ts'
import type { PaymentOrder } from './x402/paymentOrder.ts'
import type { RefusalCounts } from './x402/refusalCounts.ts'
import type { Settled } from './x402/settler.ts'

/**
 * Payments, deposits and withdrawals as their handlers see them. Members that need the chain throw GatewayError
 * chain_unavailable until it has answered for the first time; those that send throw funds_lease while another control may
 * still send, or this one is stopping.
 */
export class Payments {
  readonly refusals: RefusalCounts
  private readonly chain: ChainService

  constructor(chain: ChainService, refusals: RefusalCounts) {
    this.chain = chain
    this.refusals = refusals
  }

  get config(): PaymentsConfig {
    return this.chain.config
  }

  get terms(): PaymentTerms {
    return begun(this.chain.reading(PAYMENTS_ON_CHAIN)).terms
  }

  /** Takes gasless deposits. */
  get deposits(): Deposits {
    return this.sending().deposits
  }

  /** Sends withdrawals. */
  get withdrawer(): Withdrawer {
    return this.sending().withdrawer
  }

  /** Makes a payment and takes the hold of its request; see PaymentSettler. @throws GatewayError */
  async settle(order: PaymentOrder, waitMs: number): Promise<Settled> {
    return this.sending().settler.settle(order, waitMs)
  }

  /** To be called when requests were booked, so that refunds do not wait for the next poll. */
  onBooked(): void {
    if (this.chain.isBound) this.chain.reading(PAYMENTS_ON_CHAIN)?.onBooked()
  }

  private sending(): PaymentsOnChain {
    return begun(this.chain.sending(PAYMENTS_ON_CHAIN))
  }
}

function begun(part: PaymentsOnChain | undefined): PaymentsOnChain {
  if (part === undefined) throw new Error('payments were not begun on the chain')
  return part
}
