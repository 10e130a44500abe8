import type { Quantiles } from './samples.ts'

/** The request to send, and its destination. */
export interface LoadTarget {
  /** Shown in results, such as nginx. */
  readonly name: string
  readonly host: string
  readonly port: number
  readonly path: string
  /** The Authorization header's value, when there is one. */
  readonly authorization?: string
  /** A file with API keys, one a line; requests take them in turn in place of `authorization`. */
  readonly keysFile?: string
  /** More header lines, such as "x-a: b". */
  readonly headers?: readonly string[]
}

export interface LoadOptions {
  readonly target: LoadTarget
  /** The JSON body of every request. */
  readonly body: string
  readonly streamed: boolean
  readonly connections: number
  /** No request begins later than this. */
  readonly seconds: number
  /** No more requests than this. */
  readonly requests?: number
  /** Content frames (streamed) or completion tokens (not streamed) of a right answer. */
  readonly expectedTokens: number
  /** A right answer carries usage; a right streamed answer has a receipt comment, any other a receipt member. */
  readonly expectUsage: boolean
  readonly expectReceipt: boolean
  /** Connections start their first requests spread over this many milliseconds. */
  readonly rampMs?: number
}

export interface LoadResult {
  readonly target: string
  readonly connections: number
  /** From the first request to the last answer. */
  readonly seconds: number
  readonly requests: number
  readonly requestsPerSecond: number
  /** Data events read, [DONE] and the ones without content included. */
  readonly events: number
  readonly eventsPerSecond: number
  /** Answers that were not right: another status, too few events, no [DONE]. */
  readonly wrong: number
  /** The first of them: its status, and how its body began. */
  readonly firstWrong: string
  /** Data events missing from the answers that were not right. */
  readonly lostEvents: number
  /** Times in which a stream brought nothing for more than 100 ms. */
  readonly stalls: number
  readonly longestGapMs: number
  readonly latencyMs: Quantiles
  /** To the first body byte. */
  readonly firstByteMs: Quantiles
}
