import type { GatewayError } from '../../../contract/errors/errors.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { ChatStream, STREAM_END } from '../../relay/chatStream.ts'
import { errorEvent } from '../../relay/errorEvent.ts'
import { chunkIdentity } from '../../relay/rewrite.ts'
import { chatClient } from './chatClient.ts'
import type { AnswerContext, ChatCodec, ChatSurface } from './codec.ts'
import { readOpenaiAnswer } from './openaiAnswer.ts'
import { CHAT, OpenaiAsk } from './openaiAsk.ts'
import { readChatRequest } from './request.ts'
import { anthropicProvider, translate } from './translate.ts'

/** Chat completions over a provider that speaks them: chunks go through with three members rewritten. */
const overOpenai: ChatCodec = {
  ask: (request, requestId, _model, cut) => new OpenaiAsk(request, requestId, CHAT, cut),
  stream: ({ requestId, model, request, limits }: AnswerContext) =>
    new ChatStream(
      chunkIdentity(requestId, model.id),
      request.includeUsage,
      usageBounds(model.context, model.maxOutput),
      limits.eventBytesMax,
    ),
  answer: readOpenaiAnswer,
}

/** POST /v1/chat/completions. */
export const chatSurface: ChatSurface = {
  endpoint: 'chat',
  read: readChatRequest,
  codecs: { openai: overOpenai, anthropic: translate(anthropicProvider, chatClient) },
  faultEvents: (fault: GatewayError) => errorEvent(fault) + STREAM_END,
}
