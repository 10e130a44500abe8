import type { Duration } from './reader.ts'

const HEAD_BYTES = 30
const MODE_BITS = 41
const MODES_MAX = 64
const EXPONENT_MIN = 6
const EXPONENT_MAX = 13

/**
 * Adds up the packets of a Vorbis stream (Vorbis I specification, sections 4.2 and 4.3.8): each two that follow each
 * other give a quarter of the sum of their block sizes, and a packet's block size follows from its first byte. Only a
 * decoder can be sure which, so the bound counts every block as a large one, and so does the sum where block sizes and
 * the counts of the pages contradict each other.
 */
export class VorbisSum {
  private readonly rate: number
  private readonly small: number
  private readonly large: number
  private packets = 0
  private modes: readonly boolean[] | null = null
  private before = 0
  private samples = 0
  private samplesMax = 0

  private constructor(rate: number, small: number, large: number) {
    this.rate = rate
    this.small = small
    this.large = large
  }

  static of(head: Buffer): VorbisSum | undefined {
    if (head.length < HEAD_BYTES) return undefined
    const rate = head.readUInt32LE(12)
    const small = (head[28] as number) & 15
    const large = (head[28] as number) >> 4
    if (rate === 0 || small < EXPONENT_MIN || large > EXPONENT_MAX || small > large) return undefined
    return new VorbisSum(rate, 2 ** small, 2 ** large)
  }

  take(packet: Buffer): boolean {
    this.packets++
    if (this.packets === 2) this.modes = readModes(packet)
    if (this.packets <= 2 || packet.length === 0) return true
    // An odd first byte is that of a header. Decoders take one among the sound for new rates and sizes.
    if (((packet[0] as number) & 1) === 1) return false
    const size = this.blockSize(packet[0] as number)
    if (this.before > 0) {
      this.samples += (this.before + size) / 4
      this.samplesMax += this.large / 2
    }
    this.before = size
    return true
  }

  duration(granule: number): Duration {
    const secondsMax = this.samplesMax / this.rate
    // The last page may declare that less than its whole packets is to be played.
    const surplus = this.samples - granule
    const agrees = granule > 0 && surplus >= 0 && surplus <= 2 * this.large
    return { seconds: agrees ? granule / this.rate : secondsMax, secondsMax }
  }

  private blockSize(first: number): number {
    const { modes } = this
    if (modes === null) return this.large
    const bits = modes.length <= 1 ? 0 : 32 - Math.clz32(modes.length - 1)
    const isLarge = modes[(first >> 1) & ((1 << bits) - 1)] ?? true
    return isLarge ? this.large : this.small
  }
}

/**
 * Which modes have large blocks, read from the end of the setup header backwards: a framing bit, then 41 bits a mode,
 * preceded by their number. The bits of a mode may look like a number, too, so the longest interpretation counts.
 * @returns null when no interpretation is valid
 */
function readModes(setup: Buffer): readonly boolean[] | null {
  const bits = new BackwardBits(setup)
  if (!bits.skipToFraming()) return null
  const large: boolean[] = []
  let found: readonly boolean[] | null = null
  while (large.length < MODES_MAX && bits.left >= MODE_BITS + 6) {
    // Mapping, transform type, window type, block flag; the two types are always 0.
    if (bits.take(8) >= MODES_MAX || bits.take(16) !== 0 || bits.take(16) !== 0) break
    large.unshift(bits.take(1) === 1)
    if (bits.peek(6) + 1 === large.length) found = [...large]
  }
  return found
}

/** The bits of a packet, the last one first. Vorbis packs them from the lowest of each byte on. */
class BackwardBits {
  left: number
  private readonly bytes: Buffer

  constructor(bytes: Buffer) {
    this.bytes = bytes
    this.left = bytes.length * 8
  }

  /** Skips the zeros at the end and the framing bit before them. */
  skipToFraming(): boolean {
    while (this.left > 0) if (this.take(1) === 1) return true
    return false
  }

  /** The number in the next bits, read backwards from the current position. */
  take(count: number): number {
    const value = this.peek(count)
    this.left -= count
    return value
  }

  peek(count: number): number {
    let value = 0
    for (let i = 1; i <= count; i++) {
      const at = this.left - i
      value = value * 2 + (at < 0 ? 0 : ((this.bytes[at >> 3] as number) >> (at & 7)) & 1)
    }
    return value
  }
}
