/** The bits of a packet, the highest of each byte first; after its end they are zeros. */
export class BitReader {
  private readonly bytes: Buffer
  private at = 0

  constructor(bytes: Buffer) {
    this.bytes = bytes
  }

  /** Negative when more was taken than there is. */
  get left(): number {
    return this.bytes.length * 8 - this.at
  }

  /** @param count at most 25 */
  peek(count: number): number {
    const { bytes } = this
    const place = this.at >> 3
    const word =
      place + 4 <= bytes.length
        ? bytes.readUInt32BE(place)
        : (bytes[place] ?? 0) * 2 ** 24 + ((bytes[place + 1] ?? 0) << 16) + ((bytes[place + 2] ?? 0) << 8)
    return (word << (this.at & 7)) >>> (32 - count)
  }

  /** @param count at most 25 */
  take(count: number): number {
    const value = this.peek(count)
    this.at += count
    return value
  }

  skip(count: number): void {
    this.at += count
  }

  /** Continues with the next whole byte. */
  align(): void {
    this.at = (this.at + 7) & ~7
  }
}
