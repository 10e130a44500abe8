import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import type { ProviderSide } from '../shared/translate.ts'
import { readOpenaiMessage } from './openaiMessage.ts'
import { OpenaiReader } from './openaiReader.ts'
import { OpenaiRequestBuilder } from './openaiRequestBuilder.ts'

/** Providers of the OpenAI dialect. */
export const openaiProvider: ProviderSide = {
  ask: (request, requestId) => new OpenaiRequestBuilder(request, requestId),
  reader: ({ model, limits }) => new OpenaiReader(usageBounds(model.context, model.maxOutput), limits.eventBytesMax),
  message: readOpenaiMessage,
}
