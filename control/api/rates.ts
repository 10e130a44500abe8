import type { ApiAuth } from '../../contract/api/route.ts'
import { clientNetwork } from '../../contract/net/ipAddress.ts'
import { RateLimiter, refuseAfter } from '../../contract/std/rateLimiter.ts'
import type { Limits } from '../limits.ts'
import type { Caller } from './call.ts'
import { ownerOf } from './callers.ts'

/** How often the account API may be asked, by each control process for itself. Clients are told apart by `clientNetwork`. */
export class ApiRates {
  private readonly signIns: RateLimiter
  /** Credentials that were none. */
  private readonly refusals: RateLimiter
  /** Who reads what everybody may. */
  private readonly readers: RateLimiter
  private readonly callers: RateLimiter

  constructor(limits: Limits) {
    const signIn = { perMinute: limits.signInRequestsPerMinute, burst: limits.signInRequestBurst }
    const api = { perMinute: limits.apiRequestsPerMinute, burst: limits.apiRequestBurst }
    this.signIns = new RateLimiter(signIn, limits.rateLimiterEntriesMax)
    this.refusals = new RateLimiter(signIn, limits.rateLimiterEntriesMax)
    this.readers = new RateLimiter(api, limits.rateLimiterEntriesMax)
    this.callers = new RateLimiter(api, limits.rateLimiterEntriesMax)
  }

  /** Counts a request to a route that strangers may use, before anything else is done. @throws GatewayError rate_limited */
  checkAddress(auth: ApiAuth, clientAddress: string): void {
    const network = clientNetwork(clientAddress)
    if (auth === 'none') refuseAfter(this.signIns.take(network, Date.now()))
    if (auth === 'open' || auth === 'optional') refuseAfter(this.readers.take(network, Date.now()))
  }

  /**
   * Counts a credential that nobody has. Known ones are never counted nor refused here, because others may share their
   * address.
   * @throws GatewayError rate_limited when too many came from there
   */
  noteRefusal(clientAddress: string): void {
    refuseAfter(this.refusals.take(clientNetwork(clientAddress), Date.now()))
  }

  /** @throws GatewayError rate_limited */
  checkCaller(caller: Caller | undefined): void {
    if (caller === undefined || caller.kind === 'nobody') return
    refuseAfter(this.callers.take(ownerOf(caller), Date.now()))
  }
}
