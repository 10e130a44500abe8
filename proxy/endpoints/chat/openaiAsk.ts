import type { Route } from '../../catalog/catalog.ts'
import { openaiHeaders } from '../../upstream/dialects/openaiHeaders.ts'
import type { ChatAsk, ProviderAsk } from './codec.ts'
import type { ChatRequest } from './request.ts'

// Usage is always asked for, because the charge depends on it; whether the client sees it is another matter.
const STREAMED = '"stream":true,"stream_options":{"include_usage":true},'
const PATH = '/chat/completions'

/** What providers of the OpenAI dialect are asked; everything but the model's name is made once a request. */
export class OpenaiAsk implements ChatAsk {
  private readonly request: ChatRequest
  private readonly requestId: string
  private readonly rest: string

  constructor(request: ChatRequest, requestId: string) {
    this.request = request
    this.requestId = requestId
    this.rest = (request.stream ? STREAMED : '') + JSON.stringify(request.forward).slice(1)
  }

  make(route: Route, maxTokens: number): ProviderAsk {
    const { provider } = route
    const limitName = provider.maxTokensField === '' ? this.request.maxTokensName : provider.maxTokensField
    const accept = this.request.stream ? 'text/event-stream' : 'application/json'
    return {
      path: PATH,
      headers: openaiHeaders(provider, this.requestId, 'application/json', accept),
      body: `{"model":${JSON.stringify(route.upstreamModel)},"${limitName}":${maxTokens},${this.rest}`,
    }
  }
}
