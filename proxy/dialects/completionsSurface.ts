import { chatSurface } from './chatSurface.ts'
import { ChatStream } from './openai/chatStream.ts'
import { readTextRequest } from './openai/completionsRequest.ts'
import { openaiEnd, readTextAnswer } from './openai/openaiAnswer.ts'
import { boundsOf } from './openai/openaiBounds.ts'
import { OpenaiRequestBuilder, printOpenai, TEXT } from './openai/openaiRequestBuilder.ts'
import { textIdentity } from './openai/rewrite.ts'
import type { ChatCodec, ChatSurface } from './shared/codec.ts'

/** Text completions over a provider that speaks them: chunks go through with four members rewritten. */
const overOpenai: ChatCodec = {
  print: (request, model, cut) => printOpenai(request, model, cut),
  ask: (request, requestId, _model, printed) => new OpenaiRequestBuilder(request, requestId, printed, TEXT),
  stream: (context) => {
    const { requestId, model, request, limits, startedAtMs } = context
    const identity = textIdentity(requestId, model.id, startedAtMs)
    return new ChatStream(identity, request.includeUsage, boundsOf(context), limits, request.echo)
  },
  answer: (body, context) => readTextAnswer(body, context, context.request.echo ?? ''),
  end: openaiEnd,
}

/** POST /v1/completions. */
export const completionsSurface: ChatSurface<'completions'> = {
  name: 'completions',
  endpoint: 'completions',
  read: readTextRequest,
  // A chat cannot replace a text completion.
  codecs: { openai: overOpenai, anthropic: null },
  faultEvents: chatSurface.faultEvents,
}
