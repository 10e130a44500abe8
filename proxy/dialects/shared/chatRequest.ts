import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { PromptSize } from '../../admission/holdSize.ts'
import type { Tagged } from '../../json/tagging.ts'
import type { Asides } from './asides.ts'
import type { ClientTool } from './clientTools.ts'
import type { Preferences } from './preferences.ts'
import type { PlacedThought } from './thought.ts'

/** A chat request that is valid by itself; the checks that depend on the model follow later. */
export interface ChatRequest extends Tagged {
  /** Public model id, suffixes taken off. */
  readonly modelId: string
  /** The models that may serve in place of it, in their order, as the client names them; absent for none. */
  readonly models?: readonly string[] | undefined
  readonly batch: boolean
  /** Called when a batch job ends; absent or '' for no webhook. */
  readonly webhookUrl?: string
  readonly cheapest: boolean
  readonly stream: boolean
  /** The client wants the usage chunk. */
  readonly includeUsage: boolean
  /** Output limit of the client, or null when it left it open. */
  readonly maxTokens: number | null
  /** The name that the output limit is forwarded under, where the provider has none of its own for it. */
  readonly maxTokensName: 'max_tokens' | 'max_completion_tokens'
  /** The value of max_tokens if max_completion_tokens overrides it; null or absent if there is one limit. */
  readonly maxTokensBeside?: number | null
  /** The name of the output limit in the client's format; absent is maxTokensName. */
  readonly maxTokensParam?: string
  /** The name of the prompt in the client's format; absent is `messages`. */
  readonly promptParam?: string
  /** The name of the stop sequences in the client's format; absent is `stop`. */
  readonly stopParam?: string
  readonly prompt: PromptSize
  readonly preferences: Preferences
  /** The body's members that are forwarded to the provider unchanged. */
  readonly forward: JsonObject
  /** How much to think, by the words of reasoning_effort and in whatever spelling; absent where nothing is said. */
  readonly effort?: string
  /** Members for providers whose form has them; absent for none. */
  readonly extras?: JsonObject
  /** Members of the request that the answer echoes in the client's format; absent if there are none. */
  readonly echo?: string
  /** Members of the request that not every provider gets; absent for none. */
  readonly asides?: Asides
  /** Thinking of a history, by its message in `forward`, for the providers that take it back; absent for none. */
  readonly thoughts?: ReadonlyMap<JsonObject, readonly PlacedThought[]>
  /** The client wants blocks of thinking with what it takes to send them back; absent is false. */
  readonly returnsThoughts?: boolean
  /** The answer is a summary of the conversation, for its client to go on from; absent is false. */
  readonly compacts?: boolean
  /** The body of a request in the format of Messages; absent for others. */
  readonly native?: JsonObject
  /** Absent where it is read from the body when it is needed. */
  readonly conversation?: Conversation
  /** The names of its options that are forwarded, which a provider may refuse; absent for none. */
  readonly named?: readonly string[]
  /** The tools that the client knows otherwise than the provider does; absent for none. */
  readonly tools?: readonly ClientTool[]
}

/** A chat request without the members to forward. */
export type ChatFields = Omit<ChatRequest, 'forward' | 'native' | 'effort' | 'extras' | 'thoughts'>

/** The conversation that a request belongs to. */
export interface Conversation {
  /** As the client names it, or its user; '' where it does not. */
  readonly name: string
  /** How it begins, where it has no name. */
  readonly beginning: string
}

/** A request whose body is here, or was read by another thread. */
export type ReadRequest = ChatFields & Partial<Pick<ChatRequest, 'forward' | 'native'>>
