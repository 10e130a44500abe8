const POLYNOMIAL = 0x04c11db7
const TOP_BIT = 0x80000000

const table = Uint32Array.from({ length: 256 }, (_, byte) => {
  let crc = byte << 24
  for (let bit = 0; bit < 8; bit++) crc = crc & TOP_BIT ? (crc << 1) ^ POLYNOMIAL : crc << 1
  return crc
})

/**
 * The checksum of an Ogg page (RFC 3533 section 6), over all of its bytes with zeros in place of the checksum itself.
 * @param checksumAt index of the page's own checksum of four bytes
 */
export function oggCrc(bytes: Buffer, from: number, to: number, checksumAt: number): number {
  let crc = 0
  for (let at = from; at < to; at++) {
    const byte = at >= checksumAt && at < checksumAt + 4 ? 0 : (bytes[at] as number)
    crc = (crc << 8) ^ (table[(crc >>> 24) ^ byte] as number)
  }
  return crc >>> 0
}
