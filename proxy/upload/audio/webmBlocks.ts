import { lengthOf, variableAt } from './ebml.ts'
import { Unmeasured } from './soundTrack.ts'

const LACING = 6
const XIPH = 2
const FIXED = 4
/** Of the time and the flags, after the number of the track. */
const HEAD_BYTES = 3

/** A block of a Matroska file (RFC 9559, section 10): packets of one track. */
export interface WebmBlock {
  readonly track: number
  /** From its cluster's time on, in ticks. */
  readonly time: number
  readonly flags: number
  readonly dataAt: number
}

/** The head of the block whose data begin at `at`; null when it is cut off. */
export function blockAt(file: Buffer, at: number, end: number): WebmBlock | null {
  if (at >= end) return null
  const bytes = lengthOf(file[at] as number)
  const headAt = at + bytes
  if (bytes > 8) throw new Unmeasured()
  if (headAt + HEAD_BYTES > end) return null
  return {
    track: variableAt(file, at, bytes),
    time: file.readInt16BE(headAt),
    flags: file[headAt + 2] as number,
    dataAt: headAt + HEAD_BYTES,
  }
}

/**
 * The packets of a block.
 * @param isCut the file ends within the block
 * @throws Unmeasured when they do not fill the block
 */
export function packetsOf(file: Buffer, { flags, dataAt }: WebmBlock, end: number, isCut: boolean): readonly Buffer[] {
  const lacing = flags & LACING
  if (lacing === 0) return [file.subarray(dataAt, end)]
  const lace = new Lace(file, dataAt, end)
  const last = lace.byte()
  const sizes = lacing === FIXED ? [] : lacing === XIPH ? lace.xiph(last) : lace.ebml(last)
  const packets: Buffer[] = []
  let { at } = lace
  if (lacing === FIXED) {
    const bytes = (end - at) / (last + 1)
    if (!Number.isInteger(bytes) && !isCut) throw new Unmeasured()
    sizes.push(...new Array<number>(last).fill(Math.ceil(bytes)))
  }
  for (const bytes of sizes) {
    if (bytes < 0 || (at + bytes > end && !isCut)) throw new Unmeasured()
    packets.push(file.subarray(Math.min(at, end), Math.min(at + bytes, end)))
    at += bytes
  }
  packets.push(file.subarray(Math.min(at, end), end))
  return packets
}

/** The sizes of all packets of a block but the last one. Where they are cut off, they are zeros. */
class Lace {
  at: number
  private readonly file: Buffer
  private readonly end: number

  constructor(file: Buffer, at: number, end: number) {
    this.file = file
    this.at = at
    this.end = end
  }

  byte(): number {
    return this.at < this.end ? (this.file[this.at++] as number) : 0
  }

  xiph(count: number): number[] {
    return Array.from({ length: count }, () => {
      let size = 0
      for (;;) {
        const byte = this.byte()
        size += byte
        if (byte < 255) return size
      }
    })
  }

  /** The first as it is, the others by their difference to the one before. */
  ebml(count: number): number[] {
    let size = 0
    return Array.from({ length: count }, (_, index) => {
      const bytes = this.at < this.end ? lengthOf(this.file[this.at] as number) : 9
      if (this.at + bytes > this.end) return 0
      const value = variableAt(this.file, this.at, bytes)
      this.at += bytes
      size = index === 0 ? value : size + value - (2 ** (7 * bytes - 1) - 1)
      return size
    })
  }
}
