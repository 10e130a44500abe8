import type { GatewayError } from '../../contract/errors/errors.ts'
import { errorEvent } from '../sse/errorEvent.ts'
import { anthropicProvider } from './anthropic/anthropicProvider.ts'
import { hasInput, readChatOfInput } from './chatOfInput.ts'
import { chatClient } from './openai/chatClient.ts'
import { readChatRequest } from './openai/chatRequest.ts'
import { ChatStream } from './openai/chatStream.ts'
import { openaiEnd, readOpenaiAnswer } from './openai/openaiAnswer.ts'
import { boundsOf } from './openai/openaiBounds.ts'
import { openaiProvider } from './openai/openaiProvider.ts'
import { OpenaiRequestBuilder, printOpenai } from './openai/openaiRequestBuilder.ts'
import { STREAM_END } from './openai/ownChunks.ts'
import { chunkIdentity } from './openai/rewrite.ts'
import { isOtherKind } from './shared/clientTools.ts'
import type { AnswerContext, ChatCodec, ChatSurface } from './shared/codec.ts'
import { translate } from './shared/translate.ts'

/** Chat completions over a provider that speaks them, where the client knows a tool otherwise than the provider. */
const rewritten = translate(openaiProvider, chatClient)

/** Chat completions over a provider that speaks them: chunks go through with three members rewritten. */
const overOpenai: ChatCodec = {
  print: (request, model, cut) => printOpenai(request, model, cut),
  ask: (request, requestId, _model, printed) => new OpenaiRequestBuilder(request, requestId, printed),
  stream: (context: AnswerContext) => {
    const { requestId, model, request, limits, startedAtMs } = context
    if (request.tools?.some(isOtherKind) === true) return rewritten.stream(context)
    const identity = chunkIdentity(requestId, model.id, startedAtMs)
    return new ChatStream(identity, request.includeUsage, boundsOf(context), limits)
  },
  answer: (body, context) =>
    context.request.tools?.some(isOtherKind) === true
      ? rewritten.answer(body, context)
      : readOpenaiAnswer(body, context),
  end: openaiEnd,
}

/** POST /v1/chat/completions. */
export const chatSurface: ChatSurface<'chat'> = {
  name: 'chat',
  endpoint: 'chat',
  read: (body, limits) => (hasInput(body) ? readChatOfInput(body, limits) : readChatRequest(body, limits)),
  codecs: { openai: overOpenai, anthropic: translate(anthropicProvider, chatClient) },
  faultEvents: (fault: GatewayError) => errorEvent(fault) + STREAM_END,
}
