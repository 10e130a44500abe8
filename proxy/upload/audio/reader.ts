/** The duration of a file by its content, not by the claims of its headers. */
export interface Duration {
  readonly seconds: number
  /** The longest duration that a lenient player may find, which trusts every claim of the file. */
  readonly secondsMax: number
}

/**
 * Measures a file in steps, between which it gives way to other work. The result is null when the file is not of the
 * container, or when no bound can be found.
 */
export type AudioReader = Generator<void, Duration | null>

/** Positions that a reader checks before it yields. */
export const PLACES_PER_STEP = 16_384
