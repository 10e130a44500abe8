import type { Dialect } from '../../../contract/catalog/catalog.ts'
import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import { ChatStream } from '../../relay/chatStream.ts'
import { textIdentity } from '../../relay/rewrite.ts'
import type { ChatCodec, ChatSurface } from '../chat/codec.ts'
import { readTextAnswer } from '../chat/openaiAnswer.ts'
import { OpenaiAsk, TEXT } from '../chat/openaiAsk.ts'
import { chatSurface } from '../chat/surface.ts'
import { readTextRequest } from './request.ts'

/** The dialects that have text completions of their own; a chat is no substitute for one. */
const DIALECTS: ReadonlySet<Dialect> = new Set(['openai'])

/** Text completions over a provider that speaks them: chunks go through with four members rewritten. */
const overOpenai: ChatCodec = {
  ask: (request, requestId, _model, cut) => new OpenaiAsk(request, requestId, TEXT, cut),
  stream: ({ requestId, model, request, limits }) =>
    new ChatStream(
      textIdentity(requestId, model.id),
      request.includeUsage,
      usageBounds(model.context, model.maxOutput),
      limits.eventBytesMax,
      request.echo,
    ),
  answer: (body, context) => readTextAnswer(body, context, context.request.echo ?? ''),
}

/** POST /v1/completions. */
export const completionsSurface: ChatSurface = {
  endpoint: 'completions',
  read: readTextRequest,
  codecs: { openai: overOpenai },
  dialects: DIALECTS,
  faultEvents: chatSurface.faultEvents,
}
