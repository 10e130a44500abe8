import { ChainService, type ChainServiceOptions } from '../../../control/chain/chainService.ts'
import { Payments } from '../../../control/products/payments/payments.ts'
import { RefusalCounts } from '../../../control/products/payments/x402/refusalCounts.ts'
import { outcomesOf, PRODUCTS } from '../../../control/service/products.ts'

/** The work of all products on the chain, and payments as their handlers see them. */
export class RunningPayments extends Payments {
  readonly service: ChainService

  constructor(options: Omit<ChainServiceOptions, 'starts' | 'handlers'>) {
    const starts = PRODUCTS.flatMap(({ onChain }) => onChain ?? [])
    const service = new ChainService({ ...options, starts, handlers: outcomesOf(PRODUCTS) })
    super(service, new RefusalCounts(options.log, options.limits))
    this.service = service
  }

  stop(timeoutMs: number): Promise<void> {
    this.refusals.summarize()
    return this.service.stop(timeoutMs)
  }
}
