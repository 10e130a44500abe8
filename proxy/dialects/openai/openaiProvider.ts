import type { ProviderSide } from '../shared/translate.ts'
import { boundsOf } from './openaiBounds.ts'
import { readOpenaiMessage } from './openaiMessage.ts'
import { OpenaiReader } from './openaiReader.ts'
import { OpenaiRequestBuilder, printOpenai } from './openaiRequestBuilder.ts'

/** Providers of the OpenAI dialect. */
export const openaiProvider: ProviderSide = {
  print: (request, model) => printOpenai(request, model),
  ask: (request, requestId, _model, printed) => new OpenaiRequestBuilder(request, requestId, printed),
  reader: (context) => new OpenaiReader(boundsOf(context), context.limits, context.requestId),
  message: readOpenaiMessage,
}
