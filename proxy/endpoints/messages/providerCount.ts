import type { GatewayError } from '../../../contract/errors/errors.ts'
import { countOf } from '../../../contract/money/statedUsage.ts'
import type { Principal } from '../../access/principal.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import { anthropicHeaders } from '../../dialects/anthropic/anthropicHeaders.ts'
import { MESSAGES_PATH } from '../../dialects/anthropic/anthropicRequestBuilder.ts'
import { joinedBody } from '../../dialects/shared/joinedBody.ts'
import { parseAnswer } from '../../json/jsonObject.ts'
import type { Exchange } from '../../server/exchange.ts'
import { AnswerBody } from '../../upstream/answerBody.ts'
import { Attempts } from '../../upstream/attempts.ts'
import type { AttemptListener } from '../../upstream/attemptsOptions.ts'
import { OPERATION_RULES } from '../../upstream/operationRules.ts'
import { refusalOfError } from '../../upstream/providerErrors.ts'
import { postRequest } from '../../upstream/providerRequest.ts'
import type { RouteHealth } from '../../upstream/routeHealth.ts'
import type { UpstreamRequest } from '../../upstream/transport/transport.ts'
import type { RunServices } from '../run/services.ts'

const ANSWER_BYTES_MAX = 65_536

/** Asks the providers of a model to count the tokens of a Messages request. */
export class ProviderCount implements AttemptListener {
  private readonly exchange: Exchange
  private readonly attempts: Attempts
  private readonly services: RunServices
  private readonly requestId: string
  private readonly rest: string | Uint8Array
  private readonly body = new AnswerBody()
  private resolve: (tokens: number | null) => void = () => undefined
  private reject: (error: unknown) => void = () => undefined

  /** @param rest from printCount */
  constructor(
    exchange: Exchange,
    principal: Principal,
    rest: string | Uint8Array,
    { routes, health }: { readonly routes: readonly Route[]; readonly health: RouteHealth },
    services: RunServices,
  ) {
    const { transport, limits } = services
    this.exchange = exchange
    this.services = services
    this.requestId = exchange.id
    this.rest = rest
    this.attempts = new Attempts({
      transport,
      health,
      limits: { ...limits, totalTimeoutMs: limits.countTimeoutMs },
      rule: OPERATION_RULES.messages,
      accountId: principal.accountId,
      routes,
      makeRequest: (route, totalTimeoutMs, fresh) => this.makeRequest(route, totalTimeoutMs, fresh),
      listener: this,
      // Not every provider of the dialect counts, and those that do not still serve.
      onFault: () => undefined,
    })
  }

  /**
   * @returns null when no provider counts now, or the client has disconnected
   * @throws GatewayError when a provider rejects the request
   */
  ask(): Promise<number | null> {
    return new Promise((resolve, reject) => {
      this.resolve = resolve
      this.reject = reject
      this.exchange.setGoneListener({ onGone: () => this.gone() })
      this.attempts.start()
    })
  }

  onAttempt(): void {
    this.body.clear()
  }

  onAnswer(): void {}

  onData(bytes: Buffer): void {
    if (this.body.add(bytes, ANSWER_BYTES_MAX) !== null) this.attempts.reject(refusalOfError(null))
  }

  onEnd(): void {
    const answer = parseAnswer(this.body.take(), this.services.limits)
    const tokens = countOf(answer?.['input_tokens'], Number.MAX_SAFE_INTEGER)
    if (tokens === null) {
      this.attempts.reject(refusalOfError(answer?.['error'] ?? null))
      return
    }
    this.attempts.commit()
    this.resolve(tokens)
  }

  onBroken(): void {
    this.resolve(null)
  }

  // Faults of the request are reported to the client; after any other failure the tokenizer counts.
  onRefused(error: GatewayError): void {
    if (error.row === 'upstream_rejected' || error.row === 'context_length_exceeded') this.reject(error)
    else this.resolve(null)
  }

  onCrashed(error: unknown): void {
    this.reject(error)
  }

  private gone(): void {
    this.attempts.cancel()
    this.resolve(null)
  }

  private makeRequest({ provider, upstreamModel }: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    const { limits } = this.services
    const asked = {
      path: `${MESSAGES_PATH}/count_tokens`,
      headers: anthropicHeaders(provider, 'application/json'),
      requestId: this.requestId,
      body: joinedBody([`{"model":${JSON.stringify(upstreamModel)},`, this.rest]),
    }
    return {
      ...postRequest(provider, asked, limits, totalTimeoutMs, fresh),
      firstByteTimeoutMs: limits.countTimeoutMs,
      idleTimeoutMs: limits.countTimeoutMs,
    }
  }
}
