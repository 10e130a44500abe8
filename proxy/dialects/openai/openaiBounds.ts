import { usageBounds } from '../../../contract/money/openaiUsage.ts'
import type { UsageBounds } from '../../../contract/money/statedUsage.ts'
import type { AnswerContext } from '../shared/codec.ts'

/** How the usage of a provider of the OpenAI dialect is read, and up to which counts. */
export function boundsOf({ model, outputFromTotal }: Pick<AnswerContext, 'model' | 'outputFromTotal'>): UsageBounds {
  return usageBounds(model.context, model.maxOutput, outputFromTotal)
}
