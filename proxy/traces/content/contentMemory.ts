import type { TraceLimits } from '../limits.ts'

type ContentLimits = Pick<TraceLimits, 'traceContentQueueBytesMax' | 'traceContentRawBytesMax'>

/** The memory of the content that a process has captured and not exported yet, of requests that are served still as well. */
export class ContentMemory {
  /** Of the body of one request, and of its answer. */
  readonly rawBytesMax: number
  /** Called for a request whose content is dropped because there is no memory for it. */
  readonly onDropped: () => void
  private freeBytes: number

  constructor({ traceContentQueueBytesMax, traceContentRawBytesMax }: ContentLimits, onDropped: () => void) {
    this.freeBytes = traceContentQueueBytesMax
    this.rawBytesMax = traceContentRawBytesMax
    this.onDropped = onDropped
  }

  /** @returns false, and takes nothing, where there are not as many */
  take(bytes: number): boolean {
    if (bytes > this.freeBytes) return false
    this.freeBytes -= bytes
    return true
  }

  give(bytes: number): void {
    this.freeBytes += bytes
  }
}
