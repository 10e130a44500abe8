import { AAC_RATES } from './aacBands.ts'
import { AacBlocks } from './aacBlock.ts'
import { BitReader } from './bitReader.ts'
import { boxesIn, type Mp4Box, requiredBox } from './mp4Boxes.ts'
import { OpusSum } from './opus.ts'
import type { Duration } from './reader.ts'
import { type PacketSum, Unmeasured } from './soundTrack.ts'

/** Of a sample entry of sound before its boxes, with its own head. */
const ENTRY_BYTES = 36
/** The samples of a block of AAC-LC at its core's rate, which SBR doubles together with the rate. */
const AAC_BLOCK = 1_024
const AAC_LC = 2
const SBR = 5
const PS = 29
const MPEG4_AUDIO = 0x40
/** The frame that encoders use has 4,096 samples. */
const ALAC_FRAME_MAX = 65_536
const ALAC_RATE_MAX = 384_000
const OPUS_PACKET_SECONDS = 0.12

/** Adds up the samples of a track. */
export interface Mp4Codec extends PacketSum {
  /** The longest that a sample may be which a file refers to, but does not have. */
  readonly packetSecondsMax: number
}

/** How long the samples of a track are; @throws Unmeasured for codecs other than AAC-LC, HE-AAC, ALAC and Opus */
export function mp4Codec(file: Buffer, entry: Mp4Box): Mp4Codec {
  const from = entry.start + ENTRY_BYTES
  // The versions of QuickTime have other fields.
  if (from > entry.end || file.readUInt16BE(entry.dataAt + 8) !== 0) throw new Unmeasured()
  const boxes = boxesIn(file, entry, from)
  if (entry.type === 'mp4a') return new AacSum(aacRateIndex(file, requiredBox(boxes, 'esds', 4)))
  if (entry.type === 'alac') return alacSum(file, requiredBox(boxes, 'alac', 28))
  if (entry.type === 'Opus') return opusSum(file, requiredBox(boxes, 'dOps', 11))
  throw new Unmeasured()
}

/** Descriptors in descriptors (ISO/IEC 14496-1, section 7.2.6), down to the AudioSpecificConfig. */
function aacRateIndex(file: Buffer, { dataAt, end }: Mp4Box): number {
  const stream = descriptorAt(file, dataAt + 4, end, 3)
  const flags = byteAt(file, stream.at + 2, stream.end)
  let at = stream.at + 3
  if ((flags & 0x80) !== 0) at += 2
  if ((flags & 0x40) !== 0) at += 1 + byteAt(file, at, stream.end)
  if ((flags & 0x20) !== 0) at += 2
  const decoder = descriptorAt(file, at, stream.end, 4)
  if (byteAt(file, decoder.at, decoder.end) !== MPEG4_AUDIO) throw new Unmeasured()
  const config = descriptorAt(file, decoder.at + 13, decoder.end, 5)
  return rateIndexOf(file.subarray(config.at, config.end))
}

function descriptorAt(file: Buffer, start: number, limit: number, tag: number): { at: number; end: number } {
  if (byteAt(file, start, limit) !== tag) throw new Unmeasured()
  let at = start + 1
  let bytes = 0
  for (let digits = 0; digits < 4; digits++) {
    const digit = byteAt(file, at++, limit)
    bytes = bytes * 128 + (digit & 127)
    if (digit < 128) break
  }
  return { at, end: Math.min(limit, at + bytes) }
}

function byteAt(file: Buffer, at: number, limit: number): number {
  if (at >= limit) throw new Unmeasured()
  return file[at] as number
}

/** ISO/IEC 14496-3, section 1.6.2.1. Rates outside of the table, and blocks of 960 samples, are those of broadcasts. */
function rateIndexOf(config: Buffer): number {
  const bits = new BitReader(config)
  let kind = bits.take(5)
  const rateIndex = bits.take(4)
  bits.take(4)
  if (kind === SBR || kind === PS) {
    // The rate above is the core's, this one that of the output.
    const outputIndex = bits.take(4)
    if (outputIndex > rateIndex) throw new Unmeasured()
    kind = bits.take(5)
  }
  const isShortened = bits.take(1) === 1
  if (kind !== AAC_LC || rateIndex >= AAC_RATES.length || isShortened || bits.left < 0) throw new Unmeasured()
  return rateIndex
}

class AacSum implements Mp4Codec {
  readonly packetSecondsMax: number
  private readonly blocks: AacBlocks
  private count = 0

  constructor(rateIndex: number) {
    this.blocks = new AacBlocks(rateIndex)
    this.packetSecondsMax = AAC_BLOCK / (AAC_RATES[rateIndex] as number)
  }

  take(packet: Buffer): boolean {
    const blocks = this.blocks.count(packet)
    this.count += blocks
    return blocks >= 0
  }

  duration(): Duration {
    const seconds = this.count * this.packetSecondsMax
    return { seconds, secondsMax: seconds }
  }
}

/** Packets that are equally long at most. */
class FrameSum implements Mp4Codec {
  readonly packetSecondsMax: number
  private count = 0

  constructor(packetSecondsMax: number) {
    this.packetSecondsMax = packetSecondsMax
  }

  take(): boolean {
    this.count++
    return true
  }

  duration(): Duration {
    const seconds = this.count * this.packetSecondsMax
    return { seconds, secondsMax: seconds }
  }
}

/** Apple's description of the codec: a packet is a frame, whose samples are as many as stated here, or fewer. */
function alacSum(file: Buffer, { dataAt }: Mp4Box): Mp4Codec {
  const frame = file.readUInt32BE(dataAt + 4)
  const rate = file.readUInt32BE(dataAt + 24)
  if (frame === 0 || frame > ALAC_FRAME_MAX || rate === 0 || rate > ALAC_RATE_MAX) throw new Unmeasured()
  return new FrameSum(frame / rate)
}

/** The mapping of Opus to MP4, section 4.3.2: its numbers are big-endian, unlike those of OpusHead. */
function opusSum(file: Buffer, { dataAt }: Mp4Box): Mp4Codec {
  const sum = OpusSum.ofPackets(file.readUInt16BE(dataAt + 2))
  return {
    packetSecondsMax: OPUS_PACKET_SECONDS,
    take: (packet) => sum.take(packet),
    duration: (granule) => sum.duration(granule),
  }
}
