import { quoted } from '../../../contract/money/quoted.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { ChatRequest } from '../shared/chatRequest.ts'
import type { CutRequest, ProviderRequest, ProviderRequestBuilder } from '../shared/codec.ts'
import { openaiHeaders } from './openaiHeaders.ts'

// Usage is always asked for, because the charge depends on it; whether the client sees it is another matter.
const STREAMED = '"stream":true,"stream_options":{"include_usage":true},'

/** A path of providers of the OpenAI dialect. */
interface OpenaiPath {
  readonly path: string
  /** Its only name for the output limit; null is the provider's own or the client's. */
  readonly limitName: string | null
}

export const CHAT: OpenaiPath = { path: '/chat/completions', limitName: null }
/** Where `prompt` takes the place of `messages`. */
export const TEXT: OpenaiPath = { path: '/completions', limitName: 'max_tokens' }

/** What providers of the OpenAI dialect are asked; everything but the model's name is made once a request. */
export class OpenaiRequestBuilder implements ProviderRequestBuilder {
  private readonly request: ChatRequest
  private readonly requestId: string
  private readonly rest: string
  private readonly to: OpenaiPath
  private readonly cut: CutRequest | null

  constructor(request: ChatRequest, requestId: string, to: OpenaiPath = CHAT, cut: CutRequest | null = null) {
    this.request = request
    this.requestId = requestId
    this.to = to
    this.cut = cut
    const { forward } = cut?.marked() ?? request
    this.rest = (request.stream ? STREAMED : '') + JSON.stringify(forward).slice(1)
  }

  make(route: Route, maxTokens: number): ProviderRequest {
    const { provider } = route
    const limitName = this.to.limitName ?? (provider.maxTokensField || this.request.maxTokensName)
    const accept = this.request.stream ? 'text/event-stream' : 'application/json'
    const json = `{"model":${quoted(route.upstreamModel)},"${limitName}":${maxTokens},${this.rest}`
    return {
      path: this.to.path,
      headers: openaiHeaders(provider, 'application/json', accept),
      requestId: this.requestId,
      body: this.cut === null ? json : this.cut.fill(json),
    }
  }
}
