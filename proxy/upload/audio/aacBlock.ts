import { LONG_BANDS, SHORT_BANDS } from './aacBands.ts'
import { type AacBook, entryOf, SCALE_FACTORS, SPECTRUM } from './aacBooks.ts'
import { BitReader } from './bitReader.ts'

const SINGLE = 0
const PAIR = 1
const LOW = 3
const DATA = 4
const FILL = 6
const END = 7
const EIGHT_SHORT = 2
const SECTIONS_END = 51 * 8
const ESCAPES_MAX = 8
// Codebooks: none, reserved, noise, and intensity from here on.
const ZERO = 0
const RESERVED = 12
const NOISE = 13
const SYNC_WORD = 0xfff
/** Elements of a block; decoders know 16 of each kind. */
const ELEMENTS_MAX = 128
/** More than the 6,144 bits that a block may have for each of 48 channels. */
const SAMPLE_BYTES_MAX = 65_536

/** The windows of a channel. */
interface Windows {
  readonly isShort: boolean
  readonly bandsMax: number
  /** The number of windows of each group. */
  readonly groups: readonly number[]
}

const LONG_GROUPS = [1]

/**
 * Counts the blocks of sound in one sample of AAC-LC (ISO/IEC 14496-3, section 4.4.2). A sample should be one block, but
 * decoders play the data after it, too. Where a block ends is known only from its Huffman codes.
 */
export class AacBlocks {
  private readonly longBands: Uint16Array
  private readonly shortBands: Uint16Array
  private bits = new BitReader(Buffer.alloc(0))
  /** The codebook of each band of each group. */
  private readonly codebooks = new Uint8Array(SECTIONS_END)

  /** @param rateIndex of the sample rate */
  constructor(rateIndex: number) {
    this.longBands = LONG_BANDS[rateIndex] as Uint16Array
    this.shortBands = SHORT_BANDS[rateIndex] as Uint16Array
  }

  /** @returns blocks, or -1 when decoders may disagree where a block ends */
  count(sample: Buffer): number {
    if (sample.length > SAMPLE_BYTES_MAX) return -1
    const bits = new BitReader(sample)
    this.bits = bits
    for (let blocks = 1; ; blocks++) {
      // Decoders take this for the head of another frame format, with a sample rate of its own.
      if (bits.peek(12) === SYNC_WORD || !this.block()) return -1
      bits.align()
      // A sample that was cut off ends within its block.
      if (bits.left <= 0 || isZero(sample, sample.length - bits.left / 8)) return blocks
    }
  }

  private block(): boolean {
    const { bits } = this
    for (let elements = 0; bits.left > 0; elements++) {
      const element = bits.take(3)
      if (element === END) return true
      if (elements >= ELEMENTS_MAX || !this.element(element)) return false
    }
    return true
  }

  private element(element: number): boolean {
    const { bits } = this
    if (element === FILL) return this.fill()
    if (element === DATA) return this.data()
    if (element !== SINGLE && element !== PAIR && element !== LOW) return false
    bits.take(4)
    if (element !== PAIR) return this.channel(null)
    const shared = bits.take(1) === 1 ? this.windows() : null
    if (shared !== null) {
      const mask = bits.take(2)
      if (mask === 3) return false
      if (mask === 1) bits.skip(shared.bandsMax * shared.groups.length)
    }
    return this.channel(shared) && this.channel(shared)
  }

  private fill(): boolean {
    const count = this.bits.take(4)
    this.bits.skip(8 * (count === 15 ? 14 + this.bits.take(8) : count))
    return true
  }

  private data(): boolean {
    const { bits } = this
    bits.take(4)
    const isAligned = bits.take(1) === 1
    let count = bits.take(8)
    if (count === 255) count += bits.take(8)
    if (isAligned) bits.align()
    bits.skip(8 * count)
    return true
  }

  private windows(): Windows | null {
    const { bits } = this
    bits.take(1)
    const isShort = bits.take(2) === EIGHT_SHORT
    bits.take(1)
    if (!isShort) {
      const bandsMax = bits.take(6)
      // Prediction is not part of AAC-LC.
      const isPredicted = bits.take(1) === 1
      return isPredicted || bandsMax > this.longBands.length ? null : { isShort, bandsMax, groups: LONG_GROUPS }
    }
    const bandsMax = bits.take(4)
    const groups = [1]
    for (let window = 0; window < 7; window++) {
      if (bits.take(1) === 1) groups[groups.length - 1] = (groups[groups.length - 1] as number) + 1
      else groups.push(1)
    }
    return bandsMax > this.shortBands.length ? null : { isShort, bandsMax, groups }
  }

  private channel(shared: Windows | null): boolean {
    const { bits } = this
    bits.take(8)
    const windows = shared ?? this.windows()
    if (windows === null || !this.sections(windows)) return false
    this.scaleFactors(windows)
    if (bits.take(1) === 1) {
      if (windows.isShort) return false
      const pulses = bits.take(2) + 1
      bits.skip(6 + pulses * 9)
    }
    if (bits.take(1) === 1) this.noiseShaping(windows.isShort)
    // Gain control is not part of AAC-LC.
    return bits.take(1) === 0 && this.spectrum(windows)
  }

  private sections({ isShort, bandsMax, groups }: Windows): boolean {
    const { bits, codebooks } = this
    const width = isShort ? 3 : 5
    const more = 2 ** width - 1
    for (let group = 0; group < groups.length; group++) {
      for (let band = 0; band < bandsMax; ) {
        const codebook = bits.take(4)
        let length = 0
        let part: number
        do {
          part = bits.take(width)
          length += part
        } while (part === more && bits.left > 0)
        if (codebook === RESERVED || band + length > bandsMax) return false
        // Nothing is left of a sample that was cut off.
        if (bits.left <= 0) length = bandsMax - band
        codebooks.fill(codebook, group * bandsMax + band, group * bandsMax + band + length)
        band += length
        if (length === 0 && bits.left <= 0) return true
      }
    }
    return true
  }

  private scaleFactors({ bandsMax, groups }: Windows): void {
    const { bits, codebooks } = this
    let isFirstNoise = true
    for (let at = 0; at < bandsMax * groups.length; at++) {
      const codebook = codebooks[at] as number
      if (codebook === ZERO) continue
      if (codebook === NOISE && isFirstNoise) {
        isFirstNoise = false
        bits.take(9)
      } else {
        bits.skip(entryOf(SCALE_FACTORS, bits.peek(19)))
      }
    }
  }

  private noiseShaping(isShort: boolean): void {
    const { bits } = this
    for (let window = isShort ? 8 : 1; window > 0; window--) {
      const filters = bits.take(isShort ? 1 : 2)
      const resolution = filters > 0 ? bits.take(1) + 3 : 0
      for (let filter = 0; filter < filters; filter++) {
        bits.take(isShort ? 4 : 6)
        const order = bits.take(isShort ? 3 : 5)
        if (order === 0) continue
        bits.take(1)
        const compressed = bits.take(1)
        bits.skip(order * (resolution - compressed))
      }
    }
  }

  private spectrum({ isShort, bandsMax, groups }: Windows): boolean {
    const ends = isShort ? this.shortBands : this.longBands
    for (let group = 0; group < groups.length; group++) {
      for (let band = 0; band < bandsMax; band++) {
        const codebook = this.codebooks[group * bandsMax + band] as number
        if (codebook === ZERO || codebook > RESERVED) continue
        const width = (ends[band] as number) - (band === 0 ? 0 : (ends[band - 1] as number))
        if (!this.coefficients(SPECTRUM[codebook - 1] as AacBook, width * (groups[group] as number))) return false
      }
    }
    return true
  }

  private coefficients(book: AacBook, count: number): boolean {
    const { bits } = this
    for (let left = count; left > 0 && bits.left > 0; left -= book.values) {
      const entry = entryOf(book, bits.peek(19))
      bits.skip((entry & 31) + ((entry >> 5) & 7))
      for (let long = entry >> 8; long > 0; long--) {
        let ones = 0
        while (bits.take(1) === 1) if (++ones > ESCAPES_MAX) return false
        bits.skip(ones + 4)
      }
    }
    return true
  }
}

function isZero(sample: Buffer, from: number): boolean {
  for (let at = from; at < sample.length; at++) if (sample[at] !== 0) return false
  return true
}
