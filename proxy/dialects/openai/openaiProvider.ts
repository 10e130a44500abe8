import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import type { ProviderSide } from '../shared/translate.ts'
import { readOpenaiMessage } from './openaiMessage.ts'
import { OpenaiReader } from './openaiReader.ts'
import { OpenaiRequestBuilder, printOpenai } from './openaiRequestBuilder.ts'

/** Providers of the OpenAI dialect. */
export const openaiProvider: ProviderSide = {
  print: (request, model) => printOpenai(request, model),
  ask: (request, requestId, _model, printed) => new OpenaiRequestBuilder(request, requestId, printed),
  reader: ({ model, limits, requestId }) =>
    new OpenaiReader(usageBounds(model.context, model.maxOutput), limits, requestId),
  message: readOpenaiMessage,
}
