import { hash, timingSafeEqual } from 'node:crypto'
import { KEY_BYTES } from './journalKeys.ts'

/**
 * The journal is a sequence of blocks, one for each turn of the event loop that wrote to it:
 * a marker of the format, length of the body (32 bits, little endian), number of the block; the body, which is records, each
 * with its length (32 bits); and a MAC over all of it. The numbers of a journal's blocks follow each other.
 *
 * The MAC is the start of SHA-256 over the key and the block, in one call, because one is made in every turn. Appending to
 * what was hashed, the known weakness of that form, gives no other block: the length of the body is hashed before it, so no
 * block is the beginning of another one, and the rest of the digest is not shown.
 */
const MARKER = 0x324a4c53 // "SLJ2"
const LENGTH_AT = 4
const NUMBER_AT = 8
const HEADER_BYTES = 12
const MAC_BYTES = 16
const LENGTH_BYTES = 4
const INITIAL_BYTES = 65_536
/** In the buffer of a writer the key is in front of the block, which therefore needs no copy to be hashed. */
const BODY_AT = KEY_BYTES + HEADER_BYTES

/** Gathers the records of one turn. */
export class BlockWriter {
  private buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES)
  private end = BODY_AT
  private nextNumber: number

  /**
   * @param firstNumber of the first block that is sealed
   * @param key of the journal's owner
   */
  constructor(firstNumber: number, key: Buffer) {
    this.nextNumber = firstNumber
    key.copy(this.buffer)
    this.buffer.writeUInt32LE(MARKER, KEY_BYTES)
  }

  get isEmpty(): boolean {
    return this.end === BODY_AT
  }

  /** @param record of one byte a character */
  add(record: string): void {
    const end = this.end + LENGTH_BYTES + record.length
    if (end + MAC_BYTES > this.buffer.length) this.grow(end + MAC_BYTES)
    this.buffer.writeUInt32LE(record.length, this.end)
    this.buffer.write(record, this.end + LENGTH_BYTES, 'latin1')
    this.end = end
  }

  /**
   * Ends the block.
   * @returns its bytes, which the next `add` overwrites
   */
  seal(): Buffer {
    const { buffer, end } = this
    buffer.writeUInt32LE(end - BODY_AT, KEY_BYTES + LENGTH_AT)
    buffer.writeUInt32LE(this.nextNumber++ >>> 0, KEY_BYTES + NUMBER_AT)
    // A digest as text takes a third of the time of one in its own buffer.
    buffer.write(hash('sha256', buffer.subarray(0, end), 'binary'), end, MAC_BYTES, 'latin1')
    this.end = BODY_AT
    return buffer.subarray(KEY_BYTES, end + MAC_BYTES)
  }

  private grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.end)
    this.buffer = larger
  }
}

/** The whole part of a journal's file. */
export interface ReadBlocks {
  readonly records: string[]
  /** Of the last whole block; undefined when the file has none. */
  readonly lastNumber: number | undefined
  /** The last whole block is followed by bytes that are not a block: a torn write. */
  readonly isTorn: boolean
  /** The file begins with a whole block that none of the keys made, or in another format. */
  readonly isForeign: boolean
}

/**
 * Reads the blocks of a file up to the first that is torn. It never throws.
 * @param keys of the journal's owner, each of which verifies
 */
export function readBlocks(bytes: Buffer, keys: readonly Buffer[]): ReadBlocks {
  const records: string[] = []
  let lastNumber: number | undefined
  let at = 0
  for (;;) {
    const end = endOfBlock(bytes, at)
    if (end === undefined || !isSealed(bytes.subarray(at, end), keys)) break
    const number = bytes.readUInt32LE(at + NUMBER_AT)
    if (lastNumber !== undefined && number !== (lastNumber + 1) >>> 0) break
    readRecords(bytes.subarray(at + HEADER_BYTES, end - MAC_BYTES), records)
    lastNumber = number
    at = end
  }
  return { records, lastNumber, isTorn: at < bytes.length, isForeign: at === 0 && isWhole(bytes) }
}

/** @returns undefined where no block of this format is, or only a part of one */
function endOfBlock(bytes: Buffer, at: number): number | undefined {
  if (at + HEADER_BYTES > bytes.length || bytes.readUInt32LE(at) !== MARKER) return undefined
  const end = at + HEADER_BYTES + bytes.readUInt32LE(at + LENGTH_AT) + MAC_BYTES
  return end <= bytes.length ? end : undefined
}

/** Whether a file that no key verifies was written in full. After a loss of power, a file may have zeros where nothing was written. */
function isWhole(bytes: Buffer): boolean {
  if (bytes.length < HEADER_BYTES || bytes.readUInt32LE(0) === 0) return false
  return bytes.readUInt32LE(0) !== MARKER || endOfBlock(bytes, 0) !== undefined
}

function isSealed(block: Buffer, keys: readonly Buffer[]): boolean {
  const mac = block.subarray(-MAC_BYTES)
  const sealed = block.subarray(0, -MAC_BYTES)
  return keys.some((key) => {
    const digest = hash('sha256', Buffer.concat([key, sealed]), 'buffer')
    return timingSafeEqual(digest.subarray(0, MAC_BYTES), mac)
  })
}

function readRecords(body: Buffer, records: string[]): void {
  for (let at = 0; at + LENGTH_BYTES <= body.length; ) {
    const length = body.readUInt32LE(at)
    records.push(body.toString('latin1', at + LENGTH_BYTES, at + LENGTH_BYTES + length))
    at += LENGTH_BYTES + length
  }
}
