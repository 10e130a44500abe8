import type { GatewayError } from '../../../contract/errors/errors.ts'
import type { TokenUsage } from '../../../contract/money/charge.ts'
import { isWhole, type ReportedUsage } from '../../../contract/money/usageReports.ts'
import type { OutBuffer } from '../../sse/outBuffer.ts'

/** The last state that the provider's stream reported. */
export type StreamState =
  /** Nothing but preamble so far. */
  | 'waiting'
  /** Output has arrived. */
  | 'flowing'
  /** The stream has ended itself. */
  | 'done'
  /** An error event, JSON that cannot be read, or an event beyond the bound. */
  | 'broken'

/** How a stream ends for its client. */
export interface StreamTail {
  /** The bill. */
  readonly usage: TokenUsage
  /** The error that replaces a normal end. */
  readonly fault: GatewayError | null
  /** The receipt as JSON text, or '' while the ledger has not accepted it. */
  readonly receipt: string
}

/**
 * A provider's stream on its way to a client: reads the events of the provider's dialect, writes those of the client's, and
 * records the values that the answer is billed by.
 */
export interface RelayStream {
  readonly state: StreamState
  /** The answer has reported its finish reason. */
  readonly finished: boolean
  /** The answer is whole. */
  readonly complete: boolean
  /** The model has begun to answer, whether it has said anything or not. */
  readonly hasChoice: boolean
  /** The usage reported so far. */
  readonly usage: ReportedUsage | null
  /** An error event of the provider, parsed. */
  readonly error: unknown
  readonly outputFrames: number
  readonly outputBytes: number
  /** Output frames that had arrived when the usage was last reported. */
  readonly framesAtUsage: number
  /**
   * Reads the provider's next bytes; look at `state` afterwards.
   * @param out where the client's events are appended
   */
  push(bytes: Buffer, out: OutBuffer): void
  /** The provider's stream has ended. */
  finish(out: OutBuffer): void
  /** The last events of the client's stream, with the receipt as a comment line. */
  tail(tail: StreamTail): string
}

/** Whether the model has answered and is paid for it, even with nothing: without a choice nobody has answered. */
export function isPaid({ hasChoice, usage }: Pick<RelayStream, 'hasChoice' | 'usage'>): boolean {
  return hasChoice && isWhole(usage)
}
