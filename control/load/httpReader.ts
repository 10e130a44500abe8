const LF = 10
const CR = 13
const HEAD_BYTES_MAX = 65_536

/** Events that a reader reports of a response. Slices of `bytes` are valid during the call only. */
export interface ResponseEvents {
  onHead(status: number, head: string): void
  onBody(bytes: Buffer, start: number, end: number): void
  onEnd(): void
}

type State = 'head' | 'length' | 'untilClose' | 'chunkSize' | 'chunk' | 'chunkEnd' | 'trailer'

/**
 * Reads HTTP/1.1 responses from a connection, one after the other: bodies by Content-Length, in chunks, and until the
 * connection closes. The load generators of the command line and of the benchmark read with it.
 */
export class HttpReader {
  private readonly events: ResponseEvents
  private state: State = 'head'
  private left = 0
  private sizeText = ''
  private trailerBytes = 0
  private head: Buffer | undefined

  constructor(events: ResponseEvents) {
    this.events = events
  }

  /**
   * Takes the next bytes of the connection.
   * @throws Error when they are not a response that it understands
   */
  push(bytes: Buffer, length: number): void {
    let at = 0
    while (at < length) at = this.step(bytes, at, length)
  }

  /** Takes the end of the connection. @returns whether a response was under way that does not end by it */
  close(): boolean {
    if (this.state !== 'untilClose') return this.state !== 'head' || this.head !== undefined
    this.finish()
    return false
  }

  private step(bytes: Buffer, at: number, length: number): number {
    switch (this.state) {
      case 'head':
        return this.readHead(bytes, at, length)
      case 'length':
      case 'chunk':
        return this.readBody(bytes, at, length)
      case 'untilClose':
        this.events.onBody(bytes, at, length)
        return length
      case 'chunkSize':
        return this.readChunkSize(bytes, at, length)
      case 'chunkEnd':
        return this.skipChunkEnd(at, length)
      case 'trailer':
        return this.readTrailer(bytes, at)
    }
  }

  private readHead(bytes: Buffer, at: number, length: number): number {
    let from = at
    let all = bytes
    let end = length
    if (this.head !== undefined) {
      all = Buffer.concat([this.head, bytes.subarray(at, length)])
      from = 0
      end = all.length
    }
    const stop = all.indexOf('\r\n\r\n', from, 'latin1')
    if (stop < 0 || stop + 4 > end) {
      if (end - from > HEAD_BYTES_MAX) throw new Error('the response head is too large')
      this.head = Buffer.from(all.subarray(from, end))
      return length
    }
    const before = this.head?.length ?? 0
    this.head = undefined
    this.beginBody(all.toString('latin1', from, stop))
    return at + (stop + 4 - from) - before
  }

  private beginBody(head: string): void {
    const status = Number(head.slice(9, 12))
    if (!/^HTTP\/1\.[01] /.test(head) || !(status >= 100)) throw new Error(`not an HTTP answer: ${head.slice(0, 40)}`)
    // An interim answer, such as 103, goes before the real one.
    if (status < 200) return
    const lower = head.toLowerCase()
    this.events.onHead(status, head)
    const lengthAt = lower.indexOf('\r\ncontent-length:')
    if (lengthAt >= 0) {
      this.left = Number.parseInt(lower.slice(lengthAt + 17), 10)
      this.state = 'length'
      if (this.left === 0) this.finish()
      return
    }
    if (status === 204 || status === 304) this.finish()
    else this.state = /\r\ntransfer-encoding:\s*chunked/.test(lower) ? 'chunkSize' : 'untilClose'
  }

  private readBody(bytes: Buffer, at: number, length: number): number {
    const end = Math.min(length, at + this.left)
    this.events.onBody(bytes, at, end)
    this.left -= end - at
    if (this.left > 0) return end
    if (this.state === 'length') this.finish()
    else {
      this.state = 'chunkEnd'
      this.left = 2
    }
    return end
  }

  private readChunkSize(bytes: Buffer, at: number, length: number): number {
    for (let i = at; i < length; i++) {
      const byte = bytes[i] ?? 0
      if (byte === LF) {
        this.left = Number.parseInt(this.sizeText, 16)
        if (Number.isNaN(this.left)) throw new Error(`not a chunk size: ${this.sizeText}`)
        this.sizeText = ''
        this.state = this.left === 0 ? 'trailer' : 'chunk'
        return i + 1
      }
      if (byte !== CR) this.sizeText += String.fromCharCode(byte)
      if (this.sizeText.length > 16) throw new Error(`not a chunk size: ${this.sizeText}`)
    }
    return length
  }

  private skipChunkEnd(at: number, length: number): number {
    const end = Math.min(length, at + this.left)
    this.left -= end - at
    if (this.left === 0) this.state = 'chunkSize'
    return end
  }

  /** Fields of a trailer are skipped: the blank line ends the response. */
  private readTrailer(bytes: Buffer, at: number): number {
    const byte = bytes[at]
    if (byte === LF && this.trailerBytes === 0) this.finish()
    else if (byte === LF) this.trailerBytes = 0
    else if (byte !== CR) this.trailerBytes++
    return at + 1
  }

  private finish(): void {
    this.state = 'head'
    this.events.onEnd()
  }
}
