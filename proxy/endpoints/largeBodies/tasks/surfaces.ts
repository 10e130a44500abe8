import type { ChatEndpoint } from '../../../../contract/catalog/catalog.ts'
import { chatSurface } from '../../../dialects/chatSurface.ts'
import { completionsSurface } from '../../../dialects/completionsSurface.ts'
import { messagesSurface } from '../../../dialects/messagesSurface.ts'
import { responsesSurface } from '../../../dialects/responsesSurface.ts'
import type { ChatSurface } from '../../../dialects/shared/codec.ts'

/** The surfaces of the chat models, by their endpoints. */
export const SURFACES: { readonly [Served in ChatEndpoint]: ChatSurface<Served> } = {
  chat: chatSurface,
  completions: completionsSurface,
  messages: messagesSurface,
  responses: responsesSurface,
}
