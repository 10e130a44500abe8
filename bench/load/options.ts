import type { Quantiles } from './samples.ts'

/** What to send where. */
export interface LoadTarget {
  /** Shown in results, such as nginx. */
  name: string
  host: string
  port: number
  path: string
  /** The Authorization header's value, when there is one. */
  authorization?: string
  /** A file with API keys, one a line; requests take them in turn in place of `authorization`. */
  keysFile?: string
  /** More header lines, such as "x-a: b". */
  headers?: readonly string[]
}

export interface LoadOptions {
  target: LoadTarget
  /** The JSON body of every request. */
  body: string
  streamed: boolean
  connections: number
  /** No request begins later than this. */
  seconds: number
  /** No more requests than this. */
  requests?: number
  /** Content frames (streamed) or completion tokens (not streamed) of a right answer. */
  expectedTokens: number
  /** A right answer carries usage; a right streamed answer has a receipt comment, any other a receipt member. */
  expectUsage: boolean
  expectReceipt: boolean
  /** Connections start their first requests spread over so many milliseconds. */
  rampMs?: number
}

export interface LoadResult {
  target: string
  connections: number
  /** From the first request to the last answer. */
  seconds: number
  requests: number
  requestsPerSecond: number
  /** Data events read, [DONE] and the ones without content included. */
  events: number
  eventsPerSecond: number
  /** Answers that were not right: another status, too few events, no [DONE]. */
  wrong: number
  /** Data events missing from the answers that were not right. */
  lostEvents: number
  /** Times in which a stream brought nothing for more than 100 ms. */
  stalls: number
  longestGapMs: number
  latencyMs: Quantiles
  /** To the first body byte. */
  firstByteMs: Quantiles
}
