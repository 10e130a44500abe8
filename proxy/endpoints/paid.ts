import { payerPrincipal } from '../access/payerPrincipal.ts'
import type { Principal } from '../access/principal.ts'
import { PaidRequest, type PaymentServices } from '../payments/paidRequest.ts'
import type { Exchange, Handler } from '../server/exchange.ts'
import type { RunServices } from './run/services.ts'

/** Serves a request for somebody; it takes its hold from the services that it is given. */
export type Operation = (
  exchange: Exchange,
  body: Buffer,
  principal: Principal,
  services: RunServices,
) => void | Promise<void>

/** Serves an operation to whoever pays for the request itself, without a key: the same body under /x402. */
export function paidHandler(operation: Operation, payments: PaymentServices, services: RunServices): Handler {
  return (exchange, body) => {
    services.metrics.counters.requests++
    const paid = new PaidRequest(payments, exchange, body)
    return operation(exchange, body, payerPrincipal(paid.payer), { ...services, holds: paid, paid })
  }
}
