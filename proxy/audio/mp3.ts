import { endBeforeTags, skipId3 } from './id3.ts'
import { type AudioReader, PLACES_PER_STEP } from './measure.ts'
import { MPEG_HEAD_BYTES, type MpegFrame, mpegFrameAt } from './mpegFrame.ts'

/** Bytes outside frames and tags beyond which nobody can say what a player makes of the file. */
const JUNK_BYTES = 4_096
const JUNK_SHARE = 1 / 16

/**
 * Measures an MP3 file by its frames, one after the other; what it says of its own length only raises the bound. Between
 * frames, every place that could be a header counts as a frame for the bound.
 */
export function* readMp3(file: Buffer): AudioReader {
  const start = skipId3(file, 0)
  const end = endBeforeTags(file, start)
  const first = mpegFrameAt(file, start)
  if (first === null || !continues(file, start + first.bytes, end, first.kind)) return null
  const junkMax = JUNK_BYTES + (end - start) * JUNK_SHARE
  let at = start
  let samples = 0
  let junkSeconds = 0
  let junkBytes = 0
  for (let places = 1; at + MPEG_HEAD_BYTES <= end; places++) {
    if (places % PLACES_PER_STEP === 0) yield
    const frame = mpegFrameAt(file, at)
    const inStep = junkBytes === 0 || frame === null || continues(file, at + frame.bytes, end, first.kind)
    if (frame !== null && frame.kind === first.kind && inStep) {
      samples += frame.samples
      at += frame.bytes
      continue
    }
    if (frame !== null) junkSeconds += frame.samples / frame.rate
    const next = file.indexOf(0xff, at + 1)
    const behind = next < 0 || next > end ? end : next
    junkBytes += behind - at
    if (junkBytes > junkMax) return null
    at = behind
  }
  const seconds = samples / first.rate
  const claimed = (claimedFrames(file, start, first) * first.samples) / first.rate
  return { seconds, secondsMax: Math.max(seconds + junkSeconds, claimed) }
}

/** Whether the sound goes on at `at`: with a frame of the same kind, or with the end of the file. */
function continues(file: Buffer, at: number, end: number, kind: number): boolean {
  return at + MPEG_HEAD_BYTES > end || mpegFrameAt(file, at)?.kind === kind
}

/** The number of frames that a header of Xing's, LAME's or Fraunhofer's kind in the first frame claims; 0 for none. */
function claimedFrames(file: Buffer, at: number, { layer3, mpeg1, mono }: MpegFrame): number {
  if (!layer3) return 0
  const xingAt = at + MPEG_HEAD_BYTES + (mpeg1 ? (mono ? 17 : 32) : mono ? 9 : 17)
  const tag = file.toString('latin1', xingAt, xingAt + 4)
  if ((tag === 'Xing' || tag === 'Info') && xingAt + 12 <= file.length && (file[xingAt + 7] & 1) === 1) {
    return file.readUInt32BE(xingAt + 8)
  }
  const vbriAt = at + MPEG_HEAD_BYTES + 32
  if (file.toString('latin1', vbriAt, vbriAt + 4) !== 'VBRI' || vbriAt + 18 > file.length) return 0
  return file.readUInt32BE(vbriAt + 14)
}
