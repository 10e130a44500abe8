import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import type { ProviderSide } from '../shared/translate.ts'
import { readAnthropicMessage } from './anthropicMessage.ts'
import { AnthropicReader } from './anthropicReader.ts'
import { AnthropicRequestBuilder, printAnthropic } from './anthropicRequestBuilder.ts'
import { wholeEvents } from './wholeEvents.ts'

/** Providers of the Anthropic dialect. */
export const anthropicProvider: ProviderSide = {
  print: printAnthropic,
  ask: (request, requestId, model, printed) => new AnthropicRequestBuilder(request, requestId, model, printed),
  reader: ({ requestId, model, limits }) =>
    new AnthropicReader(usageBounds(model.context, model.maxOutput), limits, requestId),
  message: readAnthropicMessage,
  wholeEvents,
}
