import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import type { Preferences } from './preferences.ts'

/** A chat request that is sound by itself; what depends on the model is checked against it later. */
export interface ChatRequest {
  /** Public model id, suffixes taken off. */
  readonly modelId: string
  readonly batch: boolean
  /** Called when a batch job ends; absent or '' for nobody. */
  readonly webhookUrl?: string
  readonly cheapest: boolean
  readonly stream: boolean
  /** The client wants the usage chunk. */
  readonly includeUsage: boolean
  /** Output limit of the client, or null when it left it open. */
  readonly maxTokens: number | null
  /** The name that the output limit is forwarded under, where the provider has none of its own for it. */
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens'
  /** What max_tokens says where max_completion_tokens holds in its place; null or absent where there is one limit. */
  readonly maxTokensBeside?: number | null
  /** What the client's format calls the output limit; absent is maxTokensName. */
  readonly maxTokensParam?: string
  /** What the client's format calls the prompt; absent is `messages`. */
  readonly promptParam?: string
  readonly prompt: PromptSize
  readonly preferences: Preferences
  /** The body's members that go to the provider as they are. */
  readonly forward: JsonObject
  /** What an answer repeats of the request, as the client's format wants it; absent where it repeats nothing. */
  readonly echo?: string
}

/** A chat request without what is forwarded of it. */
export type ChatFields = Omit<ChatRequest, 'forward'>
