import { flacFrameAt } from './flacFrame.ts'
import { behindTag } from './id3.ts'
import { type AudioReader, type Duration, PLACES_PER_STEP } from './reader.ts'

const MARKER_BYTES = 4
const BLOCK_HEAD_BYTES = 4
const STREAMINFO_BYTES = 34
/** Samples that chance may add for each byte of a file: bytes that look like a frame's header, checksum included. */
const CHANCE_SAMPLES = 1 / 64
/** RFC 9639 section 8.2: the least number of samples in a block. */
const BLOCK_SAMPLES_MIN = 16

/** Properties of the whole stream. */
export interface FlacStream {
  readonly rate: number
  /** 0 when it is not stated. */
  readonly claimedSamples: number
}

/**
 * Measures a FLAC file (RFC 9639) by the headers of its frames. Only a decoder knows where frames end, so the whole file is
 * searched for them.
 */
export function* readFlac(file: Buffer): AudioReader {
  const start = behindTag(file, 0) + MARKER_BYTES
  const stream = readStreamInfo(file, start)
  if (stream === null) return null
  const sum = new FlacSum(stream)
  let at = file.indexOf(0xff, start)
  for (let places = 1; at >= 0; places++) {
    if (places % PLACES_PER_STEP === 0) yield
    at = file.indexOf(0xff, at + sum.take(file, at))
  }
  return sum.duration(file.length)
}

/** Adds up frames. */
export class FlacSum {
  private readonly stream: FlacStream
  private samples = 0
  /** Of frames that state another rate than the stream. */
  private foreignSeconds = 0

  constructor(stream: FlacStream) {
    this.stream = stream
  }

  /** Counts the frame at `at`, if there is one. @returns bytes to advance by */
  take(bytes: Buffer, at: number): number {
    const frame = flacFrameAt(bytes, at)
    if (frame === null) return 1
    if (frame.rate === 0 || frame.rate === this.stream.rate) this.samples += frame.samples
    else this.foreignSeconds += frame.samples / frame.rate
    return frame.headBytes
  }

  /**
   * The stream's declared length counts as long as frames that were found by chance explain the difference.
   * @param bytes number of bytes that were searched
   */
  duration(bytes: number): Duration {
    const { rate, claimedSamples } = this.stream
    const heard = this.samples / rate + this.foreignSeconds
    const claimed = claimedSamples / rate
    const byChance = claimed <= heard && heard <= claimed + (bytes * CHANCE_SAMPLES) / rate
    return { seconds: claimedSamples > 0 && byChance ? claimed : heard, secondsMax: Math.max(heard, claimed) }
  }
}

/** Reads the STREAMINFO block (RFC 9639 section 8.2), which has to be the first one. */
export function readStreamInfo(bytes: Buffer, at: number): FlacStream | null {
  const start = at + BLOCK_HEAD_BYTES
  if (start + STREAMINFO_BYTES > bytes.length) return null
  if (((bytes[at] as number) & 127) !== 0 || bytes.readUIntBE(at + 1, 3) !== STREAMINFO_BYTES) return null
  const rate = bytes.readUIntBE(start + 10, 3) >> 4
  const claimedSamples = ((bytes[start + 13] as number) & 15) * 2 ** 32 + bytes.readUInt32BE(start + 14)
  const samplesMin = Math.min(bytes.readUInt16BE(start), bytes.readUInt16BE(start + 2))
  return rate === 0 || samplesMin < BLOCK_SAMPLES_MIN ? null : { rate, claimedSamples }
}
