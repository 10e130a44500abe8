import { isIpAddress } from '../../contract/net/ipAddress.ts'
import type { Exchange } from '../server/exchange.ts'

/**
 * The address of the client behind the load balancers that the operator trusts.
 * @param trustedProxies how many of them add an entry to X-Forwarded-For; what stands before those anybody may write
 */
export function clientAddress(exchange: Exchange, trustedProxies: number): string {
  const entries = exchange.head.forwardedFor.split(',')
  const claimed = trustedProxies === 0 ? '' : (entries[entries.length - trustedProxies] ?? '').trim()
  return isIpAddress(claimed) ? claimed : exchange.remoteAddress()
}
