import type { ApiAuth } from '../../contract/api/route.ts'
import { clientNetwork } from '../../contract/net/ipAddress.ts'
import { RateLimiter, refuseAfter } from '../../contract/std/rateLimiter.ts'
import type { Caller } from './call.ts'
import { ownerOf } from './callers.ts'
import type { ApiLimits } from './limits.ts'

/** Rate limits of the account API, counted by each control process separately. Clients are distinguished by `clientNetwork`. */
export class ApiRates {
  private readonly signIns: RateLimiter
  /** Attempts with unknown credentials. */
  private readonly refusals: RateLimiter
  /** Requests to public routes. */
  private readonly readers: RateLimiter
  private readonly callers: RateLimiter

  constructor(limits: ApiLimits) {
    const signIn = { perMinute: limits.signInRequestsPerMinute, burst: limits.signInRequestBurst }
    const api = { perMinute: limits.apiRequestsPerMinute, burst: limits.apiRequestBurst }
    this.signIns = new RateLimiter(signIn, limits.rateLimiterEntriesMax)
    this.refusals = new RateLimiter(signIn, limits.rateLimiterEntriesMax)
    this.readers = new RateLimiter(api, limits.rateLimiterEntriesMax)
    this.callers = new RateLimiter(api, limits.rateLimiterEntriesMax)
  }

  /** Counts a request to a route that needs no credential, before anything else is done. @throws GatewayError rate_limited */
  checkAddress(auth: ApiAuth, clientAddress: string): void {
    const network = clientNetwork(clientAddress)
    if (auth === 'none') refuseAfter(this.signIns.take(network, Date.now()))
    if (auth === 'open' || auth === 'optional') refuseAfter(this.readers.take(network, Date.now()))
  }

  /**
   * Counts an unknown credential. Known ones are neither counted nor rejected here, because several clients may share an
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
