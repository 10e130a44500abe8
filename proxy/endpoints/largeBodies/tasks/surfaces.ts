import { chatSurface } from '../../../dialects/chatSurface.ts'
import { compactSurface } from '../../../dialects/compactSurface.ts'
import { completionsSurface } from '../../../dialects/completionsSurface.ts'
import { messagesSurface } from '../../../dialects/messagesSurface.ts'
import { responsesSurface } from '../../../dialects/responsesSurface.ts'
import type { ChatSurface, SurfaceName } from '../../../dialects/shared/codec.ts'

/** The formats in which chat models are asked, by their names. */
export const SURFACES: { readonly [Name in SurfaceName]: ChatSurface } = {
  chat: chatSurface,
  completions: completionsSurface,
  messages: messagesSurface,
  responses: responsesSurface,
  compact: compactSurface,
}
