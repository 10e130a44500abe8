import { mpegFrameAt } from './mpegFrame.ts'

/** A power of two above the bytes of the longest frame, 2,881. */
const WINDOW_BYTES = 4_096
const BYTES_PER_STEP = 65_536
/** A multiple of every rate that a frame may have, so that sums are exact. */
const TICKS_PER_SECOND = 14_112_000

/** How long a player of MPEG frames may play, in seconds. */
export interface MpegBound {
  /** From the first byte on, as one that knows no tags does. */
  readonly whole: number
  /** From `start` on. */
  readonly behindStart: number
}

/**
 * Bounds the sound that a player can decode from MPEG frames in a file, wherever it starts, whatever it takes for a tag and
 * wherever it loses synchronization: the longest sound of any choice of frames that do not overlap.
 */
export function* mpegBound(file: Buffer, start: number): Generator<void, MpegBound> {
  // The ticks that can be played from each place to the end, kept for the length of the longest frame.
  const rest = new Float64Array(WINDOW_BYTES)
  let longest = 0
  let behindStart = 0
  for (let at = file.length - 1; at >= 0; at--) {
    if (file[at] === 0xff) {
      const frame = mpegFrameAt(file, at)
      if (frame !== null) {
        const ticks = frame.samples * (TICKS_PER_SECOND / frame.rate)
        longest = Math.max(longest, ticks + (rest[(at + frame.bytes) % WINDOW_BYTES] as number))
      }
    }
    rest[at % WINDOW_BYTES] = longest
    if (at === start) behindStart = longest
    if (at % BYTES_PER_STEP === 0) yield
  }
  return { whole: longest / TICKS_PER_SECOND, behindStart: behindStart / TICKS_PER_SECOND }
}
