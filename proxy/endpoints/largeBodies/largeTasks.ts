import type { JSONRPCRequest } from '@modelcontextprotocol/server'
import type { Dialect } from '../../../contract/catalog/dialects.ts'
import type { TokenUsage } from '../../../contract/money/charge.ts'
import type { JsonBounds } from '../../../contract/std/jsonExcess.ts'
import type { Span } from '../../../contract/std/span.ts'
import type { sluice } from '../../../contract/wire/generated/messages.js'
import type { TextSample } from '../../../workers/textSample.ts'
import type { AnswerPlaces } from '../../catalog/tool.ts'
import type { DialectLimits } from '../../dialects/limits.ts'
import type { ChatFields } from '../../dialects/shared/chatRequest.ts'
import type { AnswerContext, AskModel, Printed, SurfaceName } from '../../dialects/shared/codec.ts'
import type { MembersContent, MembersReading } from '../../json/findMembers.ts'
import type { JsonLimits } from '../../json/limits.ts'
import type { Refusal } from '../../upstream/refusal.ts'
import type { McpLimits } from '../mcp/limits.ts'
import type { ModalityLimits } from '../modalities/limits.ts'
import type { TokenLimits } from '../tokens/limits.ts'
import type { VideoLimits } from '../videos/limits.ts'

/** The operations other than chat that take JSON. */
export type UnitEndpoint = 'embeddings' | 'rerank' | 'images' | 'speech'

/** A request that another thread has read. */
export interface LargeMessage {
  /** As JSON, exactly as it was sent; '' for a message that is not a request. */
  readonly id: string
  /** Without the arguments of a chat; null for a message that is not a request. */
  readonly request: JSONRPCRequest | null
  /** The body of the chat request; absent for other requests, and where it is refused. */
  readonly chat?: string
  /** Why a chat is refused. */
  readonly refusal?: sluice.Refusal.$Properties
}

/** Why a message is answered with an error of the protocol. */
export interface LargeMessageFault {
  /** As JSON; absent where it could not be read. */
  readonly id?: string
  readonly rpc: { readonly code: number; readonly message: string; readonly status: number }
}

/** A message whose chat is bytes. */
export type LargeMcp = Omit<LargeMessage, 'chat'> & { readonly chat?: Uint8Array }

/** The texts of a prompt, for their tokens to be counted. */
export interface PromptSample {
  readonly text: TextSample
  /** Tokens that are not in the text. */
  readonly extraTokens: number
}

/** How a provider's answer to a chat request is read. */
export interface AnswerInput {
  readonly surface: SurfaceName
  /** Of the provider. */
  readonly dialect: Dialect
  /** The values that are relayed as they are. */
  readonly cuts: readonly Span[]
  readonly context: Omit<AnswerContext, 'limits'>
  /** Its tokens are counted. */
  readonly isCounted: boolean
}

/** A provider's answer to a chat request; see WholeAnswer. */
export interface LargeAnswer {
  readonly usage: TokenUsage | null
  readonly outputBytes: number
  /** null unless its tokens are counted. */
  readonly written: TextSample | null
  readonly head: Uint8Array
}

/** An answer that is unusable; see Refusal. */
export interface LargeRejection {
  readonly rejected: Omit<Refusal, 'error'> & { readonly error: sluice.Refusal.$Properties }
}

/** How the answer of a tool's upstream is read. */
export interface ToolReading {
  readonly places: AnswerPlaces
  /** How many results the client asked for; 0 is any number. */
  readonly resultsMax: number
  /** The tool reads a page that has to be on the public internet. */
  readonly isPublicAlone: boolean
}

/** Such an answer that was read. */
export interface ReadResult {
  /** The client's result as JSON; null where the answer has none. */
  readonly output: Uint8Array | null
  /** Results that the upstream bills. */
  readonly billed: number
  /** A page led to an address that the client could not have asked for. */
  readonly leftPublic: boolean
}

/**
 * The tasks of another thread on a large body, by name. Results that grow with the body are bytes that both threads share,
 * so that receiving them costs nothing.
 */
export interface LargeTasks {
  /** Reads a request of a chat model. `answers` says whether the request wants an answer rather than a count. */
  readonly chat: {
    readonly input: { readonly surface: SurfaceName; readonly answers: boolean }
    readonly output: ChatFields
  }
  /** Writes it for providers of a dialect. */
  readonly print: {
    readonly input: { readonly surface: SurfaceName; readonly dialect: Dialect; readonly model: AskModel }
    readonly output: Printed
  }
  /** Serializes the request for counting its tokens, without the model. */
  readonly printCount: { readonly input: { readonly model: AskModel }; readonly output: Uint8Array }
  readonly prompt: {
    readonly input: { readonly surface: SurfaceName; readonly imageTokens: number }
    readonly output: PromptSample
  }
  /** Reads a request of an operation other than chat; the output is the result of the operation's `read`. */
  readonly unit: { readonly input: { readonly endpoint: UnitEndpoint }; readonly output: object }
  /** Reads a message of the Model Context Protocol. The arguments of a chat are returned as the body of a chat request. */
  readonly mcp: { readonly input: null; readonly output: LargeMcp | LargeMessageFault }
  /** Finds the members of a provider's answer; see `findMembers`. */
  readonly members: {
    readonly input: { readonly reading: MembersReading; readonly cuts: readonly Span[] }
    readonly output: { readonly content: MembersContent | null; readonly rest: Uint8Array }
  }
  /** Writes vectors in another encoding; see `convertVectors`. */
  readonly vectors: { readonly input: { readonly to: 'float' | 'base64' }; readonly output: Uint8Array | null }
  /** Reads a provider's answer to a chat request. */
  readonly answer: { readonly input: AnswerInput; readonly output: LargeAnswer | LargeRejection }
  /** Reads the answer of a tool's upstream. */
  readonly tool: { readonly input: ToolReading; readonly output: ReadResult }
  /** Reads a request for a clip. */
  readonly video: { readonly input: null; readonly output: object }
}

/** The limits that the tasks go by. */
export type TaskLimits = JsonLimits & DialectLimits & TokenLimits & ModalityLimits & VideoLimits & McpLimits

export type LargeTaskName = keyof LargeTasks

/** A task as it is sent to the thread. */
export type LargeTask = {
  readonly [Name in LargeTaskName]: {
    readonly name: Name
    readonly input: LargeTasks[Name]['input']
    /** In memory that both threads share. */
    readonly body: Uint8Array
    readonly bounds: JsonBounds
    readonly limits: TaskLimits
  }
}[LargeTaskName]

/** The thread's answer: a value, or the error for the client. */
export type LargeReply = { readonly value: unknown } | { readonly refusal: sluice.Refusal.$Properties }
