import { termsOfMessage } from '../../contract/payments/messages.ts'
import type { PaymentTerms } from '../../contract/payments/terms.ts'
import type { RpcClient } from '../bus/rpcClient.ts'
import type { PaymentLimits } from './limits.ts'

/**
 * Control's terms of payment. They are refreshed periodically in the background; until then the last terms stay in use, unless
 * payments cannot be made: then control is asked each time, which answers as soon as they can be made again.
 */
export class TermsCache {
  private readonly rpc: Pick<RpcClient, 'call'>
  private readonly limits: Pick<PaymentLimits, 'paymentTermsMs'>
  private readonly canPay: () => boolean
  private known: { terms: PaymentTerms; refreshAtMs: number } | undefined
  private asking: Promise<PaymentTerms> | undefined

  /** @param canPay whether payments can be made, by control's last report */
  constructor(rpc: Pick<RpcClient, 'call'>, canPay: () => boolean, limits: Pick<PaymentLimits, 'paymentTermsMs'>) {
    this.rpc = rpc
    this.canPay = canPay
    this.limits = limits
  }

  /**
   * @throws GatewayError as control answered: not_found where no payments are taken, chain_unavailable; or
   *   admission_unavailable when it did not answer
   */
  async current(): Promise<PaymentTerms> {
    const { known } = this
    if (known === undefined || !this.canPay()) return this.ask()
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
