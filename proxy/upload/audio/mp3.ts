import { behindFirstTags, behindPadding, endBeforeTags } from './id3.ts'
import { mpegBound } from './mpegBound.ts'
import { MPEG_HEAD_BYTES, type MpegFrame, mpegFrameAt } from './mpegFrame.ts'
import { type AudioReader, PLACES_PER_STEP } from './reader.ts'

/** Bytes outside frames and tags above which the file is rejected, because players may interpret it differently. */
const JUNK_BYTES = 4_096
const JUNK_SHARE = 1 / 16
/** Expected false frames per byte of a file: sound and pictures in tags look like a frame every few thousand bytes. */
const CHANCE_SECONDS = 20e-6

/**
 * Measures an MP3 file frame by frame. Tags announce where they are, but players go by the bytes, so frames within a tag
 * count. The length that the file itself claims only raises the bound. Where another choice of frames gives a clearly longer
 * sound, a player may find that one, and it counts as the length.
 */
export function* readMp3(file: Buffer): AudioReader {
  const from = behindFirstTags(file)
  const start = behindPadding(file, from)
  const first = mpegFrameAt(file, start)
  if (first === null || !continues(file, start + first.bytes, first.kind)) return null
  const samples = yield* walk(file, start, first.kind)
  if (samples === null) return null
  const bound = yield* mpegBound(file, from)
  const walked = samples / first.rate
  const seconds = bound.behindStart > walked + file.length * CHANCE_SECONDS ? bound.behindStart : walked
  const claimed = (claimedFrames(file, start, first) * first.samples) / first.rate
  return { seconds, secondsMax: Math.max(seconds, bound.whole, claimed) }
}

/** The samples of consecutive frames; null when too much of the file is neither frame nor tag. */
function* walk(file: Buffer, start: number, kind: number): Generator<void, number | null> {
  const end = file.length
  const junkMax = JUNK_BYTES + (end - start) * JUNK_SHARE + end - endBeforeTags(file, start)
  let at = start
  let samples = 0
  let junkBytes = 0
  for (let places = 1; at + MPEG_HEAD_BYTES <= end; places++) {
    if (places % PLACES_PER_STEP === 0) yield
    const frame = mpegFrameAt(file, at)
    const inStep = junkBytes === 0 || frame === null || continues(file, at + frame.bytes, kind)
    if (frame !== null && frame.kind === kind && inStep) {
      samples += frame.samples
      at += frame.bytes
      continue
    }
    const next = file.indexOf(0xff, at + 1)
    const behind = next < 0 ? end : next
    junkBytes += behind - at
    if (junkBytes > junkMax) return null
    at = behind
  }
  return samples
}

/** Whether the sound continues at `at`: with a frame of the same kind, or with the end of the file. */
function continues(file: Buffer, at: number, kind: number): boolean {
  return at + MPEG_HEAD_BYTES > file.length || mpegFrameAt(file, at)?.kind === kind
}

/** The number of frames that a header of Xing's, LAME's or Fraunhofer's kind in the first frame claims; 0 for none. */
function claimedFrames(file: Buffer, at: number, { layer3, mpeg1, mono }: MpegFrame): number {
  if (!layer3) return 0
  const xingAt = at + MPEG_HEAD_BYTES + (mpeg1 ? (mono ? 17 : 32) : mono ? 9 : 17)
  const tag = file.toString('latin1', xingAt, xingAt + 4)
  if ((tag === 'Xing' || tag === 'Info') && xingAt + 12 <= file.length && ((file[xingAt + 7] as number) & 1) === 1) {
    return file.readUInt32BE(xingAt + 8)
  }
  const vbriAt = at + MPEG_HEAD_BYTES + 32
  if (file.toString('latin1', vbriAt, vbriAt + 4) !== 'VBRI' || vbriAt + 18 > file.length) return 0
  return file.readUInt32BE(vbriAt + 14)
}
