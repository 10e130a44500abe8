import { termsOfMessage } from '../../contract/payments/messages.ts'
import type { PaymentTerms } from '../../contract/payments/terms.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import type { Limits } from '../limits.ts'

/** Control's terms of payment. They are refreshed periodically in the background; until then the last terms stay in use. */
export class TermsCache {
  private readonly rpc: Pick<RpcClient, 'call'>
  private readonly limits: Pick<Limits, 'paymentTermsMs'>
  private known: { terms: PaymentTerms; refreshAtMs: number } | undefined
  private asking: Promise<PaymentTerms> | undefined

  constructor(rpc: Pick<RpcClient, 'call'>, limits: Pick<Limits, 'paymentTermsMs'>) {
    this.rpc = rpc
    this.limits = limits
  }

  /**
   * @throws GatewayError as control answered: not_found where no payments are taken, chain_unavailable; or
   *   admission_unavailable when it did not answer
   */
  async current(): Promise<PaymentTerms> {
    const { known } = this
    if (known === undefined) return this.ask()
    if (known.refreshAtMs <= Date.now()) this.ask().catch(() => undefined)
    return known.terms
  }

  private ask(): Promise<PaymentTerms> {
    this.asking ??= this.load().finally(() => {
      this.asking = undefined
    })
    return this.asking
  }

  private async load(): Promise<PaymentTerms> {
    const terms = termsOfMessage(await this.rpc.call('payment_terms', {}))
    this.known = { terms, refreshAtMs: Date.now() + this.limits.paymentTermsMs }
    return terms
  }
}
