import { isIpAddress } from '../../contract/net/ipAddress.ts'

/** The part of a request that tells its client's address. */
interface AddressedExchange {
  readonly head: { readonly forwardedFor: string }
  remoteAddress(): string
}

/**
 * The address of the client that has connected to the load balancers that the operator trusts.
 * @param trustedProxies number of them that add an entry to X-Forwarded-For; earlier entries can be forged by any client
 */
export function clientAddress(exchange: AddressedExchange, trustedProxies: number): string {
  const entries = exchange.head.forwardedFor.split(',')
  const claimed = trustedProxies === 0 ? '' : (entries[entries.length - trustedProxies] ?? '').trim()
  return isIpAddress(claimed) ? claimed : exchange.remoteAddress()
}
