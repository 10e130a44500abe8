import type { TokenUsage } from '../../../contract/money/charge.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import type { Model } from '../../catalog/catalog.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { JsonObject } from '../../json/jsonObject.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import { chunkIdentity } from '../openai/rewrite.ts'
import type {
  AnswerContext,
  ChatCodec,
  CutRequest,
  ProviderRequest,
  ProviderRequestBuilder,
  WholeAnswer,
} from '../shared/codec.ts'
import { anthropicHeaders } from './anthropicHeaders.ts'
import { blocksIn, parseAnthropicAnswer, writtenBytes, writtenIn } from './anthropicMessage.ts'
import { MESSAGES_PATH } from './anthropicRequestBuilder.ts'
import { anthropicUsageJson, readAnthropicUsage } from './anthropicUsage.ts'
import { messagesText } from './cacheControl.ts'
import { MessagesRequest } from './messagesRequest.ts'
import { MessagesStream } from './messagesStream.ts'

/** What the gateway itself says of an answer, whatever the provider said. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'type', 'role', 'model', 'usage', 'receipt'])

/** Messages over a provider that speaks them: bodies and events go through untranslated. */
export const nativeCodec: ChatCodec = {
  ask: (request, requestId, model, cut) => new NativeAsk(messagesOf(cut?.marked() ?? request), requestId, model, cut),
  stream: ({ requestId, model, limits }) =>
    new MessagesStream(
      chunkIdentity(requestId, model.id),
      usageBounds(model.context, model.maxOutput),
      limits.eventBytesMax,
    ),
  answer: readNativeAnswer,
}

/** @throws Error for a request of another endpoint, which is a fault of the gateway */
export function messagesOf(request: unknown): MessagesRequest {
  if (request instanceof MessagesRequest) return request
  throw new Error('only Messages requests are asked for as such')
}

/** The body of a request as a model takes it: thinking is only for models that think. */
export function nativeBody(request: MessagesRequest, model: Model): JsonObject {
  if (model.thinking !== 'none') return request.native
  const { thinking: _thinking, output_config: config, ...body } = request.native
  const { format } = (config ?? {}) as JsonObject
  return format === undefined ? body : { ...body, output_config: { format } }
}

class NativeAsk implements ProviderRequestBuilder {
  private readonly stream: boolean
  private readonly requestId: string
  private readonly rest: string
  private readonly cut: CutRequest | null

  constructor(request: MessagesRequest, requestId: string, model: Model, cut: CutRequest | null) {
    this.stream = request.stream
    this.requestId = requestId
    this.cut = cut
    this.rest = messagesText(nativeBody(request, model), model.pricesHour).slice(1)
  }

  make(route: Route, maxTokens: number): ProviderRequest {
    const streamed = this.stream ? '"stream":true,' : ''
    const json = `{"model":${JSON.stringify(route.upstreamModel)},"max_tokens":${maxTokens},${streamed}${this.rest}`
    return {
      path: MESSAGES_PATH,
      headers: anthropicHeaders(route.provider, this.stream ? 'text/event-stream' : 'application/json'),
      requestId: this.requestId,
      body: this.cut === null ? json : this.cut.fill(json),
    }
  }
}

function readNativeAnswer(body: Buffer, context: AnswerContext): WholeAnswer | Rejected {
  const { requestId, model, limits } = context
  const parsed = parseAnthropicAnswer(body, limits.jsonDepthMax)
  if ('rejected' in parsed) return parsed
  const { answer } = parsed
  const blocks = blocksIn(answer)
  return {
    usage: readAnthropicUsage(answer['usage'], usageBounds(model.context, model.maxOutput)),
    outputBytes: writtenBytes(blocks),
    written: () => blocks.map(writtenIn).join('\n'),
    text: (billed, receipt) => answerText(answer, requestId, model.id, billed, receipt),
  }
}

function answerText(
  answer: JsonObject,
  requestId: string,
  modelId: string,
  billed: TokenUsage,
  receipt: string,
): string {
  let text = `{"id":"${requestId}","type":"message","role":"assistant","model":${JSON.stringify(modelId)}`
  for (const name in answer) {
    if (!OWN_MEMBERS.has(name)) text += `,${JSON.stringify(name)}:${JSON.stringify(answer[name])}`
  }
  return `${text},"usage":${anthropicUsageJson(billed)}${receipt === '' ? '' : `,"receipt":${receipt}`}}`
}
