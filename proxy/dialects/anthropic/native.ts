import { answerEnd } from '../../../contract/api/completion.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { usageOfAnswer } from '../../../contract/money/usageReports.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { Route } from '../../catalog/pricedItem.ts'
import type { AnswerJson } from '../../json/answerJson.ts'
import { exactJson } from '../../json/exactJson.ts'
import type { Rejected } from '../../upstream/refusal.ts'
import { chunkIdentity } from '../openai/rewrite.ts'
import { withMarksTaken } from '../shared/cacheMarks.ts'
import type { ChatFields } from '../shared/chatRequest.ts'
import type {
  AnswerContext,
  AskModel,
  ChatCodec,
  Printed,
  ProviderRequest,
  ProviderRequestBuilder,
  WholeAnswer,
} from '../shared/codec.ts'
import { joinedBody } from '../shared/joinedBody.ts'
import { withoutRefused } from '../shared/refusedParts.ts'
import { anthropicHeaders } from './anthropicHeaders.ts'
import { blocksIn, parseAnthropicAnswer, writtenBytes, writtenIn } from './anthropicMessage.ts'
import { MESSAGES_PATH } from './anthropicRequestBuilder.ts'
import { budgetOptions, fittingThinking, thinkingText, withoutRefusedThinking } from './anthropicThinking.ts'
import { anthropicUsageJson } from './anthropicUsage.ts'
import { messagesText } from './cacheControl.ts'
import { withoutThoughts } from './foreignThoughts.ts'
import { withNamesTaken } from './inputSchema.ts'
import { MessagesRequest } from './messagesRequest.ts'
import { MessagesStream } from './messagesStream.ts'
import { providerBody, withoutDocuments } from './nativeBody.ts'
import { placedSystem, takesFirstAlone } from './placedSystem.ts'
import { wholeEvents } from './wholeEvents.ts'

/** The members of an answer that the gateway sets itself, replacing the provider's. */
const OWN_MEMBERS: ReadonlySet<string> = new Set(['id', 'type', 'role', 'model', 'usage', 'receipt'])

/** The members of a request that count_tokens takes besides the model. */
const COUNTED = ['messages', 'system', 'tools', 'tool_choice', 'thinking', 'output_config']

/** Messages over a provider that speaks them: bodies and events go through untranslated. */
export const nativeCodec: ChatCodec = {
  print: (request, model, cut) => {
    const read = messagesOf(cut?.marked() ?? request)
    const options = budgetOptions(read.native, model.thinking, model.leavesOut)
    const { thinking, ...others } = nativeBody(read, model)
    const body = options === null && thinking !== undefined ? { ...others, thinking } : others
    const rest = messagesText(body, model.pricesHour).slice(1)
    return { rest, ...(options !== null && { options }), ...(cut !== null && { cut }) }
  },
  ask: (request, requestId, _model, printed) => new NativeAsk(request, requestId, printed),
  stream: ({ requestId, startedAtMs, model, limits }) => {
    const identity = chunkIdentity(requestId, model.id, startedAtMs)
    return new MessagesStream(identity, usageBounds(model.context, model.maxOutput), limits)
  },
  wholeEvents,
  answer: readNativeAnswer,
  end: (billed, receipt) => answerEnd(anthropicUsageJson(billed), receipt),
}

/** @throws Error for a request of another endpoint, which is a fault of the gateway */
export function messagesOf(request: unknown): MessagesRequest {
  if (request instanceof MessagesRequest) return request
  throw new Error('only Messages requests are asked for as such')
}

/** The body of a request as a model and its provider take it. */
export function nativeBody(request: MessagesRequest, model: AskModel): JsonObject {
  const taken = providerBody(knownTo(model, shownTo(model, request)), request.prompt.tools ?? 0)
  const whole = placedSystem(taken, takesFirstAlone(model))
  const fitting = fittingThinking(
    withMarksTaken(withToolsTaken(whole)),
    model.thinking,
    request.maxTokens ?? model.maxOutput,
  )
  return withoutRefusedThinking(fitting, model.thinking, model.leavesOut)
}

function withToolsTaken(body: JsonObject): JsonObject {
  const tools = (body['tools'] ?? []) as readonly JsonObject[]
  const taken = tools.map((tool) => {
    const schema = withNamesTaken(tool['input_schema'] as JsonObject)
    return schema === tool['input_schema'] ? tool : { ...tool, input_schema: schema }
  })
  return taken.some((tool, i) => tool !== tools[i]) ? { ...body, tools: taken } : body
}

/** A body without the parts of its history that a provider has refused. */
function knownTo({ leavesOut = [] }: Pick<AskModel, 'leavesOut'>, native: JsonObject): JsonObject {
  const thought = leavesOut.includes('thoughts') ? withoutThoughts(native) : native
  return withoutRefused(thought, leavesOut)
}

function shownTo({ pdfTokens = 0 }: AskModel, { native, prompt }: MessagesRequest): JsonObject {
  return (prompt.pdfs ?? 0) > 0 && pdfTokens === 0 ? withoutDocuments(native) : native
}

/** The count_tokens body of a request without the model's name; its members without the opening brace. */
export function printCount(request: MessagesRequest, model: AskModel): string {
  // It is not counted, and a count is asked for once.
  const body = withoutRefusedThinking(nativeBody(request, model), model.thinking, ['shownThoughts'])
  const counted = COUNTED.filter((name) => body[name] !== undefined).map((name) => [name, body[name]])
  return messagesText(Object.fromEntries(counted), model.pricesHour).slice(1)
}

class NativeAsk implements ProviderRequestBuilder {
  private readonly stream: boolean
  private readonly requestId: string
  private readonly printed: Printed

  constructor({ stream }: ChatFields, requestId: string, printed: Printed) {
    this.stream = stream
    this.requestId = requestId
    this.printed = printed
  }

  make(route: Route, maxTokens: number): ProviderRequest {
    const streamed = this.stream ? '"stream":true,' : ''
    const { rest, cut, options } = this.printed
    const thinking = options === undefined ? '' : thinkingText(options, maxTokens)
    const start = `{"model":${JSON.stringify(route.upstreamModel)},"max_tokens":${maxTokens},${streamed}${thinking}`
    return {
      path: MESSAGES_PATH,
      headers: anthropicHeaders(route.provider, this.stream ? 'text/event-stream' : 'application/json'),
      requestId: this.requestId,
      body: joinedBody([start, rest], cut),
    }
  }
}

function readNativeAnswer(body: AnswerJson, context: AnswerContext): WholeAnswer | Rejected {
  const { requestId, model } = context
  const parsed = parseAnthropicAnswer(body, context)
  if ('rejected' in parsed) return parsed
  const { answer } = parsed
  const blocks = blocksIn(answer)
  return {
    usage: usageOfAnswer(answer, usageBounds(model.context, model.maxOutput)),
    outputBytes: writtenBytes(blocks),
    written: () => blocks.map(writtenIn).join('\n'),
    head: () => body.fill(answerHead(answer, requestId, model.id)),
  }
}

function answerHead(answer: JsonObject, requestId: string, modelId: string): string {
  let text = `{"id":"${requestId}","type":"message","role":"assistant","model":${JSON.stringify(modelId)}`
  for (const name in answer) {
    if (!OWN_MEMBERS.has(name)) text += `,${JSON.stringify(name)}:${exactJson(answer[name])}`
  }
  return text
}
