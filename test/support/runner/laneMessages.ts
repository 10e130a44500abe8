/** What the runner tells a lane. */
export type ToLane = { readonly run: string } | { readonly end: true }

/** What a lane tells the runner. */
export type FromLane = { readonly failed: Failure } | { readonly note: string } | { readonly ended: FileEnd }

/** A test that failed. */
export interface Failure {
  readonly name: string
  /** The error with its stack, as it is printed. */
  readonly text: string
}

/** The end of a test file. */
export interface FileEnd {
  readonly passed: number
  /** Processor time of the lane itself, without that of the programs which the tests started. */
  readonly cpuSeconds: number
  readonly residentBytes: number
  /** What the file left open, which the next file would have beside its own. */
  readonly leftOpen: readonly string[]
}
