import type { GatewayError } from '../../contract/errors/errors.ts'
import type { FaultCause } from '../../contract/net/connectionFault.ts'
import type { ProviderError } from '../../contract/providers/providerError.ts'
import type { Route } from '../catalog/pricedItem.ts'
import type { Permits } from '../quotas/permit.ts'
import type { CanaryWatch } from './canaryWatch.ts'
import type { UpstreamLimits } from './limits.ts'
import type { OperationRule } from './operationRules.ts'
import type { Refusal } from './refusal.ts'
import type { RouteHealth } from './routeHealth.ts'
import type { Transport, TransportFailure, UpstreamHeaders, UpstreamRequest } from './transport/transport.ts'

/** Follows a request over its attempts. Bytes are only lent for the time of the call. */
export interface AttemptListener {
  /** A route is asked; output of earlier routes is void. */
  onAttempt(route: Route): void
  /** The route answers 2xx. */
  onAnswer(route: Route, headers: UpstreamHeaders): void
  onData(bytes: Buffer): void
  onEnd(): void
  /** The answer broke off after the attempt was committed. */
  onBroken(failure: TransportFailure): void
  /** No route is left, or the request itself is at fault; nothing was committed. */
  onRefused(error: GatewayError): void
  /** The listener itself has thrown; the request is given up. */
  onCrashed(error: unknown): void
}

/** Classifies an error answer of a provider, by its body and the error that it states. */
export type Classify = (status: number, body: string, error: ProviderError, retryAfterMs: number) => Refusal

/** The count and the deadline of a request that go on from the routes of one model to those of another. */
export interface EarlierTurns {
  /** Attempts that were begun. */
  readonly begun: number
  readonly deadlineMs: number
}

export interface AttemptsOptions {
  readonly transport: Transport
  readonly health: RouteHealth
  readonly limits: UpstreamLimits
  readonly rule: OperationRule
  /** The account of the request. */
  readonly accountId: string
  /** Candidates in the order they are tried. */
  readonly routes: readonly Route[]
  /** Gives permits of the keys' quotas; absent where these do not count the request. */
  readonly permits?: Permits
  /** Tokens that the request may use, for these quotas; absent is none. */
  readonly tokensMax?: number | undefined
  readonly makeRequest: (route: Route, totalTimeoutMs: number, fresh: boolean) => UpstreamRequest
  readonly listener: AttemptListener
  /** Measures registered providers; absent when none can be among the routes. */
  readonly watch?: CanaryWatch
  /** The answer is relayed as it arrives, so that each of its outputs is timed. */
  readonly streamed?: boolean
  /** Tokens that an answer in one piece may have; absent where it is not priced by them. */
  readonly outputTokensMax?: number | undefined
  /** The turns of the same request over the routes of another model, whose deadline and count go on; absent for none. */
  readonly earlier?: EarlierTurns | undefined
  /** Sorts error answers; absent for those of a model's provider. */
  readonly classify?: Classify | undefined
  /** Called for faults that the client does not see: a provider that rejects our credential, a failing route. */
  readonly onFault: (route: Route, reason: string, cause?: FaultCause) => void
}
