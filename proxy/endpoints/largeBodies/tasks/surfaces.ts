import type { Dialect } from '../../../../contract/catalog/catalog.ts'
import { chatSurface } from '../../../dialects/chatSurface.ts'
import { completionsSurface } from '../../../dialects/completionsSurface.ts'
import { messagesSurface } from '../../../dialects/messagesSurface.ts'
import { responsesSurface } from '../../../dialects/responsesSurface.ts'
import type { ChatCodec, ChatSurface } from '../../../dialects/shared/codec.ts'
import type { ChatEndpoint } from '../largeTasks.ts'

/** The surfaces of the chat models, by their endpoints. */
export const SURFACES: Readonly<Record<ChatEndpoint, ChatSurface>> = {
  chat: chatSurface,
  completions: completionsSurface,
  messages: messagesSurface,
  responses: responsesSurface,
}

/** @throws Error for a dialect that the endpoint is not served over, which is a fault of the gateway */
export function codecOf(endpoint: ChatEndpoint, dialect: Dialect): ChatCodec {
  const codec = SURFACES[endpoint].codecs[dialect]
  if (codec === undefined) throw new Error(`${endpoint} is not served over ${dialect}`)
  return codec
}
