import type { Registered } from '../catalog/pricedItem.ts'

/** The multiple of its bar that a registered provider may take for the first output of a stream, before another route is asked. */
const FIRST_OUTPUT_FACTOR = 2

/**
 * Waits for the first output of a stream of a registered provider. Bytes are no output: comments and empty events would hold a
 * client for as long as the provider likes.
 */
export class OutputTimer {
  private readonly timer: NodeJS.Timeout

  /** @param onLate called when the output does not come in time */
  constructor({ firstOutputMaxMs }: Registered, onLate: () => void) {
    this.timer = setTimeout(onLate, FIRST_OUTPUT_FACTOR * firstOutputMaxMs)
  }

  stop(): void {
    clearTimeout(this.timer)
  }
}
