/** The content of a request as its client sent it, and was answered. Each character is a byte of UTF-8, which costs the loop no decoding. */
export interface RawContent {
  /** The body of the request, which is whole or ''. */
  readonly input: string
  /** The answer in one piece, up to its last members, or its events; perhaps cut. */
  readonly output: string
  /** Something of it was beyond the bound, and is missing. */
  readonly isCut: boolean
}
