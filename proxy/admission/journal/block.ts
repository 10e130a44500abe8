import { crc32 } from 'node:zlib'

/**
 * The journal is a sequence of blocks, one for each turn of the event loop that wrote to it:
 * length of the body (32 bits, little endian), CRC-32 of the body, number of the block; then the body, which is records,
 * each with its length (32 bits). The numbers of a journal's blocks follow each other.
 */
const HEADER_BYTES = 12
const LENGTH_BYTES = 4
const INITIAL_BYTES = 65_536

/** Gathers the records of one turn. */
export class BlockWriter {
  private buffer = Buffer.allocUnsafeSlow(INITIAL_BYTES)
  private length = HEADER_BYTES
  private nextNumber: number

  /** @param firstNumber of the first block that is sealed */
  constructor(firstNumber: number) {
    this.nextNumber = firstNumber
  }

  get isEmpty(): boolean {
    return this.length === HEADER_BYTES
  }

  /** @param record of one byte a character */
  add(record: string): void {
    const end = this.length + LENGTH_BYTES + record.length
    if (end > this.buffer.length) this.grow(end)
    this.buffer.writeUInt32LE(record.length, this.length)
    this.buffer.write(record, this.length + LENGTH_BYTES, 'latin1')
    this.length = end
  }

  /**
   * Ends the block.
   * @returns its bytes, which the next `add` overwrites
   */
  seal(): Buffer {
    const block = this.buffer.subarray(0, this.length)
    block.writeUInt32LE(this.length - HEADER_BYTES, 0)
    block.writeUInt32LE(crc32(block.subarray(HEADER_BYTES)), 4)
    block.writeUInt32LE(this.nextNumber++ >>> 0, 8)
    this.length = HEADER_BYTES
    return block
  }

  private grow(bytes: number): void {
    const larger = Buffer.allocUnsafeSlow(Math.max(bytes, this.buffer.length * 2))
    this.buffer.copy(larger, 0, 0, this.length)
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
}

/** Reads the blocks of a file up to the first that is torn. It never throws. */
export function readBlocks(bytes: Buffer): ReadBlocks {
  const records: string[] = []
  let lastNumber: number | undefined
  let at = 0
  while (at + HEADER_BYTES <= bytes.length) {
    const length = bytes.readUInt32LE(at)
    const number = bytes.readUInt32LE(at + 8)
    const body = bytes.subarray(at + HEADER_BYTES, at + HEADER_BYTES + length)
    const follows = lastNumber === undefined || number === (lastNumber + 1) >>> 0
    if (body.length < length || !follows || crc32(body) !== bytes.readUInt32LE(at + 4)) break
    readRecords(body, records)
    lastNumber = number
    at += HEADER_BYTES + length
  }
  return { records, lastNumber, isTorn: at < bytes.length }
}

function readRecords(body: Buffer, records: string[]): void {
  for (let at = 0; at + LENGTH_BYTES <= body.length; ) {
    const length = body.readUInt32LE(at)
    records.push(body.toString('latin1', at + LENGTH_BYTES, at + LENGTH_BYTES + length))
    at += LENGTH_BYTES + length
  }
}
