/** A value in JSON bytes: from its first byte to the one after its last. */
export interface Span {
  readonly start: number
  readonly end: number
}
