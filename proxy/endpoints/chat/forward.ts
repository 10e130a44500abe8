import type { Limits } from '../../../control/contract/limits.ts'
import type { Route } from '../../catalog/catalog.ts'
import type { UpstreamRequest } from '../../upstream/transport.ts'
import type { ChatRequest } from './request.ts'

// Usage is always asked for, because the charge depends on it; whether the client sees it is another matter.
const STREAMED = '"stream":true,"stream_options":{"include_usage":true},'

/** Builds what providers of the OpenAI dialect are sent; everything but the model's name is made once a request. */
export class ChatForward {
  private readonly request: ChatRequest
  private readonly requestId: string
  private readonly limits: Limits
  private readonly rest: string
  /** The output limit that the hold pays for. */
  maxTokens = 0

  constructor(request: ChatRequest, requestId: string, limits: Limits) {
    this.request = request
    this.requestId = requestId
    this.limits = limits
    this.rest = (request.stream ? STREAMED : '') + JSON.stringify(request.forward).slice(1)
  }

  /** The request for one route. */
  make(route: Route, totalTimeoutMs: number, fresh: boolean): UpstreamRequest {
    const { provider } = route
    const limitName = provider.maxTokensField === '' ? this.request.maxTokensName : provider.maxTokensField
    const headers = [
      ...['content-type', 'application/json'],
      ...['accept', this.request.stream ? 'text/event-stream' : 'application/json'],
      ...['accept-encoding', 'identity', 'x-request-id', this.requestId],
    ]
    if (provider.apiKey !== '') headers.push('authorization', `Bearer ${provider.apiKey}`)
    return {
      origin: provider.origin,
      host: provider.host,
      path: `${provider.basePath}/chat/completions`,
      method: 'POST',
      headers,
      body: `{"model":${JSON.stringify(route.upstreamModel)},"${limitName}":${this.maxTokens},${this.rest}`,
      connectTimeoutMs: this.limits.connectTimeoutMs,
      firstByteTimeoutMs: this.limits.firstByteTimeoutMs,
      idleTimeoutMs: this.limits.idleTimeoutMs,
      totalTimeoutMs,
      fresh,
    }
  }
}
