/** The size of a TLS record, the most that OpenSSL decrypts in one call. */
const RECORD_BYTES = 16_384
const GATHERED_BYTES = 65_536

/** Takes the bytes that were gathered for it. They are only lent for the time of the call. */
export interface TurnReader {
  onTurn(bytes: Buffer): void
}

/**
 * Gathers what one reader reads in a turn of the event loop. TLS is decrypted record by record, and providers send one
 * record for each event: a reader that got each record separately would parse and write each separately. No memory is needed
 * per reader, because the loop reads one socket after the other.
 */
export class TurnReads {
  /** The buffer for a record that is to be added. */
  readonly record: Buffer
  // Both share one buffer, in which bytes move without an object for the range.
  private readonly memory = Buffer.allocUnsafe(RECORD_BYTES + GATHERED_BYTES)
  private reader: TurnReader | undefined
  private length = 0
  private due = false
  private readonly endTurn = (): void => {
    this.due = false
    this.handOn()
  }

  constructor() {
    this.record = this.memory.subarray(0, RECORD_BYTES)
  }

  /** Takes the first `length` bytes of `record`. */
  add(reader: TurnReader, length: number): void {
    if (this.reader !== reader || this.length + length > GATHERED_BYTES) this.handOn()
    this.reader = reader
    this.memory.copyWithin(RECORD_BYTES + this.length, 0, length)
    this.length += length
    if (this.due) return
    this.due = true
    setImmediate(this.endTurn)
  }

  /** Takes bytes that are elsewhere. */
  addAll(reader: TurnReader, bytes: Buffer): void {
    for (let from = 0; from < bytes.length; from += RECORD_BYTES) {
      this.add(reader, bytes.copy(this.record, 0, from, from + RECORD_BYTES))
    }
  }

  /** Delivers a reader's bytes immediately, before an event that must not overtake them. */
  finish(reader: TurnReader): void {
    if (this.reader === reader) this.handOn()
  }

  /** Discards a reader's bytes. */
  drop(reader: TurnReader): void {
    if (this.reader !== reader) return
    this.reader = undefined
    this.length = 0
  }

  private handOn(): void {
    const { reader, length } = this
    if (reader === undefined) return
    this.reader = undefined
    this.length = 0
    reader.onTurn(this.memory.subarray(RECORD_BYTES, RECORD_BYTES + length))
  }
}
