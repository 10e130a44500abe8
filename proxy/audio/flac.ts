import { flacFrameAt } from './flacFrame.ts'
import { skipId3 } from './id3.ts'
import { type AudioReader, PLACES_PER_STEP } from './measure.ts'

const MARKER_BYTES = 4
const BLOCK_HEAD_BYTES = 4
const STREAMINFO_BYTES = 34
const BLOCKS_MAX = 1_024
/** What chance may add: bytes of sound that look like a frame's header, checksum included. */
const CHANCE_SHARE = 1 / 64
const CHANCE_SAMPLES = 262_144

/** What the whole stream has in common. */
export interface FlacStream {
  readonly rate: number
  /** 0 when it is not stated. */
  readonly claimedSamples: number
}

/**
 * Measures a FLAC file (RFC 9639) by the headers of its frames. Where frames end only a decoder knows, so they are
 * looked for everywhere.
 */
export function* readFlac(file: Buffer): AudioReader {
  const marker = skipId3(file, 0)
  const stream = readStreamInfo(file, marker + MARKER_BYTES)
  const start = stream === null ? -1 : behindMetadata(file, marker + MARKER_BYTES)
  if (stream === null || start < 0) return null
  const sum = new FlacSum(stream)
  let at = file.indexOf(0xff, start)
  for (let places = 1; at >= 0; places++) {
    if (places % PLACES_PER_STEP === 0) yield
    at = file.indexOf(0xff, at + sum.take(file, at))
  }
  return sum.duration()
}

/** Adds up frames. */
export class FlacSum {
  private readonly stream: FlacStream
  private samples = 0
  private foreignSeconds = 0

  constructor(stream: FlacStream) {
    this.stream = stream
  }

  /** Counts the frame at `at`, if there is one. @returns bytes to go on by */
  take(bytes: Buffer, at: number): number {
    const frame = flacFrameAt(bytes, at)
    if (frame === null) return 1
    if (frame.rate === 0 || frame.rate === this.stream.rate) this.samples += frame.samples
    else this.foreignSeconds += frame.samples / frame.rate
    return frame.headBytes
  }

  duration(): { seconds: number; secondsMax: number } {
    const { rate, claimedSamples } = this.stream
    const surplus = this.samples - claimedSamples
    const byChance = surplus >= 0 && surplus <= claimedSamples * CHANCE_SHARE + CHANCE_SAMPLES
    const seconds = (claimedSamples > 0 && byChance ? claimedSamples : this.samples) / rate
    return { seconds, secondsMax: Math.max(this.samples, claimedSamples) / rate + this.foreignSeconds }
  }
}

/** Reads the STREAMINFO block (RFC 9639 section 8.2), which has to come first. */
export function readStreamInfo(bytes: Buffer, at: number): FlacStream | null {
  const start = at + BLOCK_HEAD_BYTES
  if (start + STREAMINFO_BYTES > bytes.length) return null
  if ((bytes[at] & 127) !== 0 || bytes.readUIntBE(at + 1, 3) !== STREAMINFO_BYTES) return null
  const rate = bytes.readUIntBE(start + 10, 3) >> 4
  const claimedSamples = (bytes[start + 13] & 15) * 2 ** 32 + bytes.readUInt32BE(start + 14)
  return rate === 0 ? null : { rate, claimedSamples }
}

function behindMetadata(file: Buffer, from: number): number {
  let at = from
  for (let blocks = 0; blocks < BLOCKS_MAX && at + BLOCK_HEAD_BYTES <= file.length; blocks++) {
    const isLast = file[at] >= 128
    at += BLOCK_HEAD_BYTES + file.readUIntBE(at + 1, 3)
    if (isLast) return at
  }
  return -1
}
