import { mpegFrameAt } from './mpegFrame.ts'

const BYTES_PER_STEP = 65_536
/** A power of two above the bytes of the longest frame, 8,194. */
const WINDOW_BYTES = 16_384
/** Players take samples for frames when as many follow each other at the beginning, or anywhere. */
const FIRST_FRAMES = 3
const CHAIN_FRAMES = 64
/** The number of sync words that is not a coincidence. */
const MARKS = 3
const MARK_BYTES = 6

/** The sync words of DTS with 16-bit words in both orders, DTS-HD, Dolby TrueHD, and S/PDIF bursts (IEC 61937). */
const SYNC_WORDS: ReadonlySet<number> = new Set([0x7ffe8001, 0xfe7f0180, 0x64582025, 0xf8726fba, 0x72f81f4e])
/** Quiet samples look like the sync words of DTS with 14-bit words, except for the two bytes after them. */
const DTS_14_BIG = 0x1fffe800
const DTS_14_LITTLE = 0xff1f00e8

/** The possible starts of sound, by byte value. */
const FRAME = 1
const MARK = 2
const STARTS = new Uint8Array(256)
for (const first of [0xff, 0x0b, 0x56]) STARTS[first] = FRAME
for (const word of [...SYNC_WORDS, DTS_14_BIG, DTS_14_LITTLE])
  STARTS[word >>> 24] = (STARTS[word >>> 24] as number) | MARK

// kbit/s of AC-3 by half the frame size code (ETSI TS 102 366, table 4.13).
const AC3_RATES = [32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 384, 448, 512, 576, 640]

/**
 * Whether bytes that are declared as samples contain frames of MPEG audio, AAC (ADTS, LOAS), AC-3, E-AC-3, DTS, TrueHD or
 * S/PDIF. Players such as ffmpeg search for them in 16-bit samples, and play them.
 */
export function* holdsCodedSound(file: Buffer, from: number): Generator<void, boolean> {
  let first = from
  while (first < file.length && file[first] === 0) first++
  // How many frames follow each other from each place on, kept for the length of the longest frame.
  const chains = new Uint8Array(WINDOW_BYTES)
  let marks = 0
  for (let at = file.length - MARK_BYTES; at >= from; at--) {
    if (at % BYTES_PER_STEP === 0) yield
    chains[at % WINDOW_BYTES] = 0
    const start = STARTS[file[at] as number] as number
    if (start === 0 || (start === (FRAME | MARK) && isQuiet(file[at + 1] as number))) continue
    const bytes = (start & FRAME) === 0 ? 0 : frameBytesAt(file, at)
    if (bytes > 0) {
      const frames = 1 + (chains[(at + bytes) % WINDOW_BYTES] as number)
      if (frames >= (at === first ? FIRST_FRAMES : CHAIN_FRAMES)) return true
      chains[at % WINDOW_BYTES] = frames
    }
    if ((start & MARK) !== 0 && isSyncWord(file, at) && ++marks >= MARKS) return true
  }
  return false
}

/** Whether the byte after 0xff, which is half of the bytes of quiet samples, excludes every sync word. */
function isQuiet(second: number): boolean {
  return second < 0xe0 && second !== 0x1f
}

function isSyncWord(file: Buffer, at: number): boolean {
  const word = file.readUInt32BE(at)
  const next = file.readUInt16BE(at + 4)
  if (word === DTS_14_BIG) return (next & 0xfff0) === 0x07f0
  if (word === DTS_14_LITTLE) return (next & 0xf0ff) === 0xf007
  return SYNC_WORDS.has(word)
}

/** The bytes of the coded frame whose header is at `at`; 0 when no header is there. */
function frameBytesAt(file: Buffer, at: number): number {
  if (at + 7 > file.length) return 0
  const first = file[at]
  const second = file[at + 1] as number
  if (first === 0xff) return (second & 0xf6) === 0xf0 ? adtsBytes(file, at) : (mpegFrameAt(file, at)?.bytes ?? 0)
  if (first === 0x0b && second === 0x77) return ac3Bytes(file, at)
  if (first === 0x56 && (second & 0xe0) === 0xe0) return (file.readUInt16BE(at + 1) & 0x1fff) + 3
  return 0
}

/** ISO/IEC 13818-7 section 6.2. */
function adtsBytes(file: Buffer, at: number): number {
  const bytes = (file.readUIntBE(at + 3, 3) >> 5) & 0x1fff
  return bytes >= 7 && (((file[at + 2] as number) >> 2) & 15) < 13 ? bytes : 0
}

/** ETSI TS 102 366, sections 4.3 and E.1.2. */
function ac3Bytes(file: Buffer, at: number): number {
  const streamId = (file[at + 5] as number) >> 3
  if (streamId > 16) return 0
  if (streamId > 10) return ((file.readUInt16BE(at + 2) & 0x7ff) + 1) * 2
  const rateCode = (file[at + 4] as number) >> 6
  const sizeCode = (file[at + 4] as number) & 63
  if (rateCode === 3 || sizeCode >= AC3_RATES.length * 2) return 0
  const kbits = AC3_RATES[sizeCode >> 1] as number
  if (rateCode !== 1) return kbits * (rateCode === 0 ? 4 : 6)
  return (Math.floor((kbits * 320) / 147) + (sizeCode & 1)) * 2
}
