import { oggCrc } from './oggCrc.ts'

const HEAD_BYTES = 27
const CHECKSUM_AT = 22
/** "OggS". */
const CAPTURE_PATTERN = 0x4f676753
const CONTINUED = 1
const FIRST = 2
const UNSET = -1n

/** A page of an Ogg file (RFC 3533 section 6). */
export interface OggPage {
  readonly serial: number
  readonly continued: boolean
  readonly first: boolean
  /** The codec's count of samples at the page's end, or -1 when no packet ends on it. */
  readonly granule: number
  /** The lengths of the segments; a packet with a segment of 255 continues in the next one. */
  readonly lacing: Buffer
  readonly dataAt: number
  readonly end: number
  /** It is all there, with the right checksum. Decoders pass over others, or look for pages within them. */
  readonly sound: boolean
}

/** Reads the page at `at`; null when no page is there or it is cut off within its head. */
export function oggPageAt(file: Buffer, at: number): OggPage | null {
  if (at + HEAD_BYTES > file.length || file.readUInt32BE(at) !== CAPTURE_PATTERN || file[at + 4] !== 0) return null
  const dataAt = at + HEAD_BYTES + (file[at + 26] as number)
  if (dataAt > file.length) return null
  const lacing = file.subarray(at + HEAD_BYTES, dataAt)
  let bytes = 0
  for (const length of lacing) bytes += length
  const granule = file.readBigInt64LE(at + 6)
  return {
    serial: file.readUInt32LE(at + 14),
    continued: ((file[at + 5] as number) & CONTINUED) !== 0,
    first: ((file[at + 5] as number) & FIRST) !== 0,
    granule: granule === UNSET ? -1 : Number(granule),
    lacing,
    dataAt,
    end: dataAt + bytes,
    sound: isSound(file, at, dataAt + bytes),
  }
}

function isSound(file: Buffer, at: number, end: number): boolean {
  const checksumAt = at + CHECKSUM_AT
  return end <= file.length && oggCrc(file, at, end, checksumAt) === file.readUInt32LE(checksumAt)
}
