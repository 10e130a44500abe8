import type { ApiAuth } from '../contract/api/route.ts'
import { GatewayError } from '../contract/errors.ts'
import { limits } from '../contract/limits.ts'
import type { Caller } from './call.ts'
import { RateLimiter } from './rateLimiter.ts'

const SIGN_IN = { perMinute: limits.signInRequestsPerMinute, burst: limits.signInRequestBurst }
const API = { perMinute: limits.apiRequestsPerMinute, burst: limits.apiRequestBurst }

/** How often the account API may be asked, by each control process for itself. */
export class ApiRates {
  readonly #signIns = new RateLimiter(SIGN_IN, limits.rateLimiterEntriesMax)
  /** Credentials that were none, by client address: who guesses is not answered for a while. */
  readonly #refusals = new RateLimiter(SIGN_IN, limits.rateLimiterEntriesMax)
  readonly #callers = new RateLimiter(API, limits.rateLimiterEntriesMax)

  /** Before the credential is looked up. @throws GatewayError rate_limited */
  checkAddress(auth: ApiAuth, clientAddress: string): void {
    const nowMs = Date.now()
    if (auth === 'none') refuseAfter(this.#signIns.take(clientAddress, nowMs))
    else refuseAfter(this.#refusals.waitMs(clientAddress, nowMs))
  }

  noteRefusal(clientAddress: string): void {
    this.#refusals.take(clientAddress, Date.now())
  }

  /** @throws GatewayError rate_limited */
  checkCaller(caller: Caller | undefined): void {
    if (caller === undefined || caller.kind === 'nobody') return
    const name = caller.accountId || (caller.kind === 'session' ? caller.address : caller.keyId)
    refuseAfter(this.#callers.take(name, Date.now()))
  }
}

/** @throws GatewayError rate_limited unless there is nothing to wait for */
export function refuseAfter(waitMs: number): void {
  if (waitMs > 0) throw new GatewayError('rate_limited', { retryAfterSeconds: Math.ceil(waitMs / 1_000) })
}
