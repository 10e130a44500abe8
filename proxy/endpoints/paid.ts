import { payerPrincipal } from '../access/payerPrincipal.ts'
import { PaidRequest, type PaymentServices } from '../payments/paidRequest.ts'
import type { Handler } from '../server/exchange.ts'
import type { Serve } from './run/serve.ts'
import type { RunServices } from './run/services.ts'

/** Serves clients that pay per request, without a key: the same body under /x402. */
export function paidHandler(serve: Serve, payments: PaymentServices, services: RunServices): Handler {
  return (exchange, body) => {
    services.metrics.counters.requests++
    const paid = new PaidRequest(payments, exchange, body)
    return serve(exchange, body, payerPrincipal(paid.payer), { ...services, holds: services.singly(paid), paid })
  }
}
