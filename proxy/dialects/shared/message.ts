import type { FinishReason } from '../../../contract/api/finishReason.ts'
import type { ReportedUsage } from '../../../contract/money/usageReports.ts'
import type { JsonObject } from '../../../contract/std/jsonObject.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'
import type { Citation } from './citation.ts'
import type { StreamTail } from './relayStream.ts'
import type { Thought } from './thought.ts'

export type { FinishReason }

/** Stands for the empty arguments of tools without parameters, because clients parse them. */
export const NO_ARGUMENTS = '{}'

/** A call that the model wants the client to make. */
export interface ToolCall {
  readonly id: string
  readonly name: string
  /** JSON text, as the model wrote it. */
  readonly arguments: string
  /** Members of other names, of which a provider may want one back; absent or null for none. */
  readonly extra?: JsonObject | null
}

/** An assistant's message in one piece, independent of the provider's dialect. */
export interface Message {
  readonly text: string
  readonly reasoning: string
  /** The blocks of the reasoning that may go back to the provider; absent for none. */
  readonly thoughts?: readonly Thought[]
  readonly refusal: string
  /** Of the text; absent for none. */
  readonly citations?: readonly Citation[]
  readonly toolCalls: readonly ToolCall[]
  readonly finish: FinishReason
  readonly usage: ReportedUsage | null
  /** UTF-8 bytes of the model's output. */
  readonly outputBytes: number
}

/** Takes an assistant's message in the pieces that a stream delivers. */
export interface MessageSink {
  text(piece: string): void
  reasoning(piece: string): void
  /** A block of thinking has ended, whose text was sent in pieces before; only for clients that send it back. */
  thoughtEnds?(thought: Thought): void
  refusal(piece: string): void
  /** The text so far cites a page; only for clients whose format has a place for it. */
  cites?(citation: Citation): void
  /** A tool call begins; those of a message are numbered from 0. @param extra its members of other names */
  toolCall(index: number, id: string, name: string, extra?: JsonObject | null): void
  /** Pieces of JSON; none for a call of a tool without parameters, for which a writer fills in an empty object. */
  toolArguments(index: number, piece: string): void
  /** May be called again, when what follows shows that the reason is more than `stop`. */
  ends(reason: FinishReason): void
}

/** Reads a provider's stream, piece by piece. */
export interface MessageReader {
  /** The stream has ended itself. */
  readonly done: boolean
  /** The stream cannot be read further: an error event, invalid JSON, or an event beyond the bound. */
  readonly broken: boolean
  /** An error event of the provider, parsed. */
  readonly error: unknown
  /** See RelayStream. */
  readonly hasChoice: boolean
  /** The usage reported so far. */
  readonly usage: ReportedUsage | null
  push(bytes: Buffer, sink: MessageSink): void
  /** The provider's stream has ended. */
  end(sink: MessageSink): void
}

/** Writes a message to a client, in the events of its format. */
export interface MessageWriter extends MessageSink {
  /** The buffer for the events; set before every piece. */
  out: OutBuffer
  /** The end of the stream: the last events, with the receipt as a comment line before the very last one. */
  tail(tail: StreamTail): string
}
