const START_BYTES = 65_536
const LOOP_BYTES_MAX = 48
/** Most bytes that UTF-8 takes for one unit of a JavaScript string. */
const UNIT_BYTES_MAX = 3

/**
 * Bytes on their way out, gathered so that one read from a provider becomes one write to the client. One instance
 * serves all streams of a process: it is filled and sent within one turn.
 */
export class OutBuffer {
  private bytes = Buffer.allocUnsafe(START_BYTES)
  private used = 0

  get length(): number {
    return this.used
  }

  clear(): void {
    this.used = 0
  }

  /** The gathered bytes; lent until the next call. */
  view(): Buffer {
    return this.bytes.subarray(0, this.used)
  }

  /** A copy of the gathered bytes. */
  copy(): Buffer<ArrayBuffer> {
    return copyOf(this.bytes, 0, this.used)
  }

  /** Appends source[start, end). */
  append(source: Buffer, start: number, end: number): void {
    const length = end - start
    if (this.used + length > this.bytes.length) this.grow(this.used + length)
    // Below this size a loop beats the call into native code and the view that it makes.
    if (length <= LOOP_BYTES_MAX) {
      const { bytes } = this
      for (let from = start, to = this.used; from < end; from++, to++) bytes[to] = source[from] as number
    } else {
      source.copy(this.bytes, this.used, start, end)
    }
    this.used += length
  }

  appendAll(source: Buffer): void {
    this.append(source, 0, source.length)
  }

  /** Takes back the bytes that were appended last. */
  takeBack(length: number): void {
    this.used -= length
  }

  appendText(text: string): void {
    if (text === '') return
    const most = this.used + text.length * UNIT_BYTES_MAX
    if (most > this.bytes.length) this.grow(most)
    this.used += this.bytes.write(text, this.used)
  }

  private grow(needed: number): void {
    const grown = Buffer.allocUnsafe(Math.max(needed, this.bytes.length * 2))
    this.bytes.copy(grown, 0, 0, this.used)
    this.bytes = grown
  }
}

/** A copy of bytes[start, end), without the view that it is usually made of, which costs as much as the copy. */
export function copyOf(bytes: Buffer, start: number, end: number): Buffer<ArrayBuffer> {
  const copy = Buffer.allocUnsafe(end - start)
  bytes.copy(copy, 0, start, end)
  return copy
}

/** For writers that do not have their buffer yet. */
export const NOWHERE = new OutBuffer()
