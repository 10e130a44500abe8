import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import type { ProviderSide } from '../shared/translate.ts'
import { readAnthropicMessage } from './anthropicMessage.ts'
import { AnthropicReader } from './anthropicReader.ts'
import { AnthropicRequestBuilder } from './anthropicRequestBuilder.ts'

/** Providers of the Anthropic dialect. */
export const anthropicProvider: ProviderSide = {
  ask: (request, requestId, model) => new AnthropicRequestBuilder(request, requestId, model),
  reader: ({ model, limits }) => new AnthropicReader(usageBounds(model.context, model.maxOutput), limits.eventBytesMax),
  message: readAnthropicMessage,
}
