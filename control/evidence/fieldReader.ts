import { malformed } from './evidenceError.ts'

/** Reads fields of fixed and stated lengths one after the other; integers are little-endian. */
export class FieldReader {
  private readonly bytes: Buffer
  private readonly what: string
  private offset = 0

  /** @param what the name of the whole in errors */
  constructor(bytes: Buffer, what: string) {
    this.bytes = bytes
    this.what = what
  }

  /** How many bytes were read. */
  get position(): number {
    return this.offset
  }

  /** The next `length` bytes, without a copy. @throws EvidenceError malformed when there are fewer */
  take(name: string, length: number): Buffer {
    const end = this.offset + length
    if (end > this.bytes.length) malformed(`${this.what} ends within ${name}`)
    const field = this.bytes.subarray(this.offset, end)
    this.offset = end
    return field
  }

  u8(name: string): number {
    return this.take(name, 1).readUInt8()
  }

  u16(name: string): number {
    return this.take(name, 2).readUInt16LE()
  }

  u24(name: string): number {
    return this.take(name, 3).readUIntLE(0, 3)
  }

  u32(name: string): number {
    return this.take(name, 4).readUInt32LE()
  }

  u64(name: string): bigint {
    return this.take(name, 8).readBigUInt64LE()
  }

  /** @throws EvidenceError malformed where something else than zeros follows */
  finish(): void {
    if (this.bytes.subarray(this.offset).some((byte) => byte !== 0))
      malformed(`${this.what} has more bytes than fields`)
  }
}
