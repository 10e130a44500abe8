/** Members of a request that not every provider gets. */
export interface Asides {
  /** Names that no provider gets. */
  readonly unknown: readonly string[]
  /** Names that a provider gets whose form has them. */
  readonly extra: readonly string[]
  /** Names that say how much to think, other than reasoning_effort. */
  readonly thinking: readonly string[]
}
