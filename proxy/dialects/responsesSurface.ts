import type { GatewayError } from '../../contract/errors/errors.ts'
import { anthropicProvider } from './anthropic/anthropicProvider.ts'
import { openaiProvider } from './openai/openaiProvider.ts'
import { STREAM_END } from './openai/ownChunks.ts'
import { responsesClient } from './responses/client.ts'
import { responseErrorEvent } from './responses/errorEvent.ts'
import { readResponseRequest } from './responses/responsesRequest.ts'
import type { ChatSurface } from './shared/codec.ts'
import { translate } from './shared/translate.ts'

/** POST /v1/responses, without anything that would have to be stored. */
export const responsesSurface: ChatSurface<'responses'> = {
  name: 'responses',
  endpoint: 'responses',
  read: readResponseRequest,
  codecs: {
    openai: translate(openaiProvider, responsesClient),
    anthropic: translate(anthropicProvider, responsesClient),
  },
  // Called when the stream itself has failed, and its count of events with it.
  faultEvents: (fault: GatewayError) => responseErrorEvent(fault, 0) + STREAM_END,
}
