/** The provider that an attempt asks. */
export interface AttemptTarget {
  readonly provider: string
  /** The id of the provider's key; '' where it has none. */
  readonly key: string
  /** The provider's own name of the model. */
  readonly model: string
  /** Scheme, host and port. */
  readonly origin: string
}
