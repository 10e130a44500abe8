import { anthropicProvider } from './anthropic/anthropicProvider.ts'
import { openaiProvider } from './openai/openaiProvider.ts'
import { compactClient } from './responses/compactClient.ts'
import { readCompactRequest } from './responses/compactRequest.ts'
import { responsesSurface } from './responsesSurface.ts'
import type { ChatSurface } from './shared/codec.ts'
import { translate } from './shared/translate.ts'

/** POST /v1/responses/compact: the model sums up a conversation, so that its client can go on with less. */
export const compactSurface: ChatSurface<'responses'> = {
  ...responsesSurface,
  name: 'compact',
  read: readCompactRequest,
  codecs: {
    openai: translate(openaiProvider, compactClient),
    anthropic: translate(anthropicProvider, compactClient),
  },
}
