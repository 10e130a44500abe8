import type { UploadLimits } from '../limits.ts'
import { type EbmlElement, elementAt, uintOf } from './ebml.ts'
import { OpusSum } from './opus.ts'
import { type PacketSum, Unmeasured } from './soundTrack.ts'
import { VorbisSum } from './vorbis.ts'

const ENTRY = 0xae
const NUMBER = 0xd7
const TYPE = 0x83
const CODEC = 0x86
const PRIVATE = 0x63a2
/** Compression or encryption of the packets. */
const ENCODINGS = 0x6d80
/** A factor of the track's times, which few players know. */
const SCALE = 0x23314f
const SOUND = 2
/** Pictures, subtitles, buttons and alike, by type and by the beginning of the codec's name. */
const SILENT_TYPES: ReadonlySet<number> = new Set([1, 16, 17, 18, 32, 33])
const SILENT_CODECS = /^[VSBD]_/
const PARTS_MAX = 1_024
const OPUS_HEAD = 'OpusHead'
const OPUS_HEAD_BYTES = 19

/** The tracks of a Matroska file: those of sound with their sums, the others with null. @throws Unmeasured */
export function webmTracks(
  file: Buffer,
  tracks: EbmlElement,
  { audioTracksMax }: UploadLimits,
): ReadonlyMap<number, PacketSum | null> {
  const found = new Map<number, PacketSum | null>()
  for (const entry of partsOf(file, tracks)) {
    if (entry.id !== ENTRY) continue
    const parts = partsOf(file, entry)
    const number = uintOf(file, only(parts, NUMBER))
    const type = uintOf(file, only(parts, TYPE))
    const { dataAt, end } = only(parts, CODEC)
    const codec = file.toString('latin1', dataAt, end)
    if (found.has(number) || found.size >= audioTracksMax) throw new Unmeasured()
    if (SILENT_TYPES.has(type) && SILENT_CODECS.test(codec)) {
      found.set(number, null)
      continue
    }
    if (type !== SOUND || parts.some(({ id }) => id === ENCODINGS || id === SCALE)) throw new Unmeasured()
    const head = only(parts, PRIVATE)
    found.set(number, sumOf(codec, file.subarray(head.dataAt, head.end)))
  }
  return found
}

/** The elements in one, each of them whole. @throws Unmeasured */
export function partsOf(file: Buffer, { dataAt, end }: EbmlElement): readonly EbmlElement[] {
  const parts: EbmlElement[] = []
  for (let at = dataAt; at < end; ) {
    const part = elementAt(file, at, end)
    if (part === null || part.isOpen || part.isCut || parts.length >= PARTS_MAX) throw new Unmeasured()
    parts.push(part)
    at = part.end
  }
  return parts
}

function only(parts: readonly EbmlElement[], id: number): EbmlElement {
  const [found, other] = parts.filter((part) => part.id === id)
  if (found === undefined || other !== undefined) throw new Unmeasured()
  return found
}

/** @param head what the codec needs before the first packet */
function sumOf(codec: string, head: Buffer): PacketSum {
  if (codec === 'A_OPUS' && head.length >= OPUS_HEAD_BYTES && head.toString('latin1', 0, 8) === OPUS_HEAD) {
    return OpusSum.ofPackets(head.readUInt16LE(10))
  }
  const vorbis = codec === 'A_VORBIS' ? vorbisSum(head) : null
  if (vorbis === null) throw new Unmeasured()
  return vorbis
}

/** The three headers of Vorbis in one: their number less one, the lengths of the first two, and all of them. */
function vorbisSum(head: Buffer): VorbisSum | null {
  if (head[0] !== 2) return null
  const lengths: number[] = []
  let at = 1
  while (lengths.length < 2) {
    let length = 0
    for (;;) {
      const byte = head[at++]
      if (byte === undefined) return null
      length += byte
      if (byte < 255) break
    }
    lengths.push(length)
  }
  const [first = 0, second = 0] = lengths
  const comment = at + first
  const setup = comment + second
  if (setup > head.length) return null
  const start = head.subarray(at, comment)
  const sum = start.toString('latin1', 0, 7) === '\x01vorbis' ? VorbisSum.of(start) : undefined
  if (sum === undefined) return null
  sum.take(head.subarray(comment, setup))
  sum.take(head.subarray(setup))
  return sum
}
