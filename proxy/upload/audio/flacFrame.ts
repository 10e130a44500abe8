const RATES = [0, 88_200, 176_400, 192_000, 8_000, 16_000, 22_050, 24_000, 32_000, 44_100, 48_000, 96_000]
const CHANNELS_MAX = 10
const POLYNOMIAL = 0x07

/** The start of a FLAC frame (RFC 9639 section 9.1). */
export interface FlacFrame {
  readonly headBytes: number
  readonly samples: number
  /** Hertz; 0 when it is that of the whole stream. */
  readonly rate: number
}

const crcTable = Uint8Array.from({ length: 256 }, (_, byte) => {
  let crc = byte
  for (let bit = 0; bit < 8; bit++) crc = ((crc << 1) ^ (crc & 0x80 ? POLYNOMIAL : 0)) & 0xff
  return crc
})

/**
 * Reads a frame's header, whose checksum has to be right.
 * @returns null when no valid frame is at `at`
 */
export function flacFrameAt(bytes: Buffer, at: number): FlacFrame | null {
  if (at + 6 > bytes.length || bytes[at] !== 0xff || ((bytes[at + 1] as number) & 0xfe) !== 0xf8) return null
  const sizeCode = (bytes[at + 2] as number) >> 4
  const rateCode = (bytes[at + 2] as number) & 15
  const sampleSize = ((bytes[at + 3] as number) >> 1) & 7
  const reserved = (bytes[at + 3] as number) & 1
  if (
    sizeCode === 0 ||
    rateCode === 15 ||
    (bytes[at + 3] as number) >> 4 > CHANNELS_MAX ||
    sampleSize === 3 ||
    reserved === 1
  ) {
    return null
  }
  const numberBytes = codedBytes(bytes[at + 4] as number)
  if (numberBytes === 0) return null
  const sizeAt = at + 4 + numberBytes
  const rateAt = sizeAt + (sizeCode === 6 ? 1 : sizeCode === 7 ? 2 : 0)
  const crcAt = rateAt + (rateCode === 12 ? 1 : rateCode > 12 ? 2 : 0)
  if (crcAt >= bytes.length || crc8(bytes, at, crcAt) !== bytes[crcAt]) return null
  return {
    headBytes: crcAt + 1 - at,
    samples: samplesOf(bytes, sizeCode, sizeAt),
    rate: rateOf(bytes, rateCode, rateAt),
  }
}

/** Bytes of the frame's number, which is coded like a character of UTF-8 but may have 36 bits. */
function codedBytes(first: number): number {
  if (first < 0x80) return 1
  const ones = Math.clz32(~(first << 24))
  return ones >= 2 && ones <= 7 ? ones : 0
}

function samplesOf(bytes: Buffer, code: number, at: number): number {
  if (code === 1) return 192
  if (code <= 5) return 576 << (code - 2)
  if (code === 6) return (bytes[at] as number) + 1
  if (code === 7) return bytes.readUInt16BE(at) + 1
  return 256 << (code - 8)
}

function rateOf(bytes: Buffer, code: number, at: number): number {
  if (code < 12) return RATES[code] as number
  if (code === 12) return (bytes[at] as number) * 1_000
  return bytes.readUInt16BE(at) * (code === 14 ? 10 : 1)
}

function crc8(bytes: Buffer, from: number, to: number): number {
  let crc = 0
  for (let at = from; at < to; at++) crc = crcTable[crc ^ (bytes[at] as number)] as number
  return crc
}
