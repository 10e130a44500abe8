import { isField, parseResponseHead, type ResponseHead } from './responseHead.ts'

const CR = 13
const LF = 10
const HEAD_BYTES_MAX = 65_536
const CHUNK_LINE_BYTES_MAX = 256
const TRAILER_BYTES_MAX = 16_384
const CHUNK_SIZE_DIGITS_MAX = 8
const NO_BYTES = Buffer.alloc(0)
const TOKEN = "[!#$%&'*+.^_`|~0-9A-Za-z-]+"
const CHUNK_SIZE = new RegExp(
  `^([0-9A-Fa-f]{1,8})(?:;${TOKEN}(?:=(?:${TOKEN}|"[\\t\\x20-\\x21\\x23-\\x5b\\x5d-\\x7e]*"))?)*$`,
)

/** Receives the parts of one answer. Bytes are only lent for the time of the call. */
export interface ResponseSink {
  onResponseHead(head: ResponseHead): void
  onResponseBody(bytes: Buffer): void
  onResponseEnd(keepAlive: boolean): void
}

type State = 'head' | 'length' | 'close' | 'chunk-size' | 'chunk-data' | 'chunk-end' | 'trailer' | 'ended' | 'broken'

/**
 * Reads one HTTP/1.1 answer after another from the bytes of a connection (RFC 9112): content-length, chunked and
 * close-delimited bodies, interim answers, trailers. Malformed bytes leave it broken; it never guesses.
 */
export class ResponseReader {
  private state: State = 'head'
  private head: ResponseHead | undefined
  /** Bytes of a line or head that have not ended yet. */
  private partial = ''
  private left = 0
  private trailerBytes = 0
  /** Body bytes of the current read that have not been delivered. */
  private bodyStart = 0
  private bodyEnd = 0

  /** No byte of an answer has been read. */
  get fresh(): boolean {
    return this.state === 'head' && this.partial === ''
  }

  /** Prepares for the next answer on the same connection. */
  restart(): void {
    this.state = 'head'
    this.partial = ''
    this.head = undefined
  }

  /**
   * Reads bytes. Chunks of one read are moved together in `bytes` itself, so that they are handed on in one piece.
   * @returns false when they are malformed or go beyond the answer's end
   */
  push(bytes: Buffer, sink: ResponseSink): boolean {
    let at = 0
    this.bodyStart = this.bodyEnd = 0
    while (at < bytes.length && this.state !== 'broken') at = this.step(bytes, at, sink)
    this.handOn(bytes, sink)
    return this.state !== 'broken'
  }

  /**
   * The connection has ended.
   * @returns whether that is a proper end of the answer
   */
  close(sink: ResponseSink): boolean {
    if (this.state !== 'close') return this.state === 'ended'
    this.end(NO_BYTES, sink)
    return true
  }

  private step(bytes: Buffer, at: number, sink: ResponseSink): number {
    switch (this.state) {
      case 'head':
        return this.readHead(bytes, at, sink)
      case 'length':
      case 'chunk-data':
        return this.readCounted(bytes, at, sink)
      case 'close':
        this.take(bytes, at, bytes.length)
        return bytes.length
      case 'chunk-size':
        return this.readChunkSize(bytes, at)
      case 'chunk-end':
        return this.readChunkEnd(bytes, at)
      case 'trailer':
        return this.readTrailer(bytes, at, sink)
      default:
        this.state = 'broken'
        return at
    }
  }

  private readHead(bytes: Buffer, at: number, sink: ResponseSink): number {
    const found = this.partial === '' ? bytes.indexOf('\r\n\r\n', at, 'latin1') : -1
    if (found >= 0) {
      this.takeHead(bytes.toString('latin1', at, found), sink)
      return found + 4
    }
    // The end may be split across two reads, so the search starts just before the end of the earlier bytes.
    const before = this.partial.length
    this.partial += bytes.toString('latin1', at)
    const end = this.partial.indexOf('\r\n\r\n', Math.max(0, before - 3))
    if (end < 0) {
      if (this.partial.length > HEAD_BYTES_MAX || !couldBeHead(this.partial)) this.state = 'broken'
      return bytes.length
    }
    const head = this.partial.slice(0, end)
    this.partial = ''
    this.takeHead(head, sink)
    return at + end + 4 - before
  }

  private takeHead(text: string, sink: ResponseSink): void {
    const head = text.length > HEAD_BYTES_MAX ? null : parseResponseHead(text)
    if (head === null || head.status === 101) {
      this.state = 'broken'
      return
    }
    if (head.status < 200) return
    this.head = head
    this.left = head.contentLength
    this.trailerBytes = 0
    this.state = STATE_AFTER_HEAD[head.framing]
    sink.onResponseHead(head)
    if (head.framing === 'none') this.end(NO_BYTES, sink)
  }

  private readCounted(bytes: Buffer, at: number, sink: ResponseSink): number {
    const end = Math.min(bytes.length, at + this.left)
    this.left -= end - at
    this.take(bytes, at, end)
    if (this.left === 0) {
      if (this.state === 'chunk-data') this.state = 'chunk-end'
      else this.end(bytes, sink)
    }
    return end
  }

  private take(bytes: Buffer, start: number, end: number): void {
    if (this.bodyStart === this.bodyEnd) {
      this.bodyStart = start
      this.bodyEnd = end
      return
    }
    bytes.copyWithin(this.bodyEnd, start, end)
    this.bodyEnd += end - start
  }

  private handOn(bytes: Buffer, sink: ResponseSink): void {
    const { bodyStart, bodyEnd } = this
    if (bodyStart === bodyEnd) return
    this.bodyStart = this.bodyEnd = 0
    sink.onResponseBody(bodyStart === 0 && bodyEnd === bytes.length ? bytes : bytes.subarray(bodyStart, bodyEnd))
  }

  // A chunk size that is complete in one read and has no extension needs no string; every other line takes the slow path.
  private readChunkSize(bytes: Buffer, at: number): number {
    let size = 0
    let digits = 0
    let digit = this.partial === '' ? hexDigit(bytes[at]) : -1
    while (digit >= 0 && digits < CHUNK_SIZE_DIGITS_MAX) {
      size = size * 16 + digit
      digits++
      digit = hexDigit(bytes[at + digits])
    }
    const end = at + digits
    if (digits > 0 && bytes[end] === CR && bytes[end + 1] === LF) {
      this.beginChunk(size)
      return end + 2
    }
    return this.readLongSize(bytes, at)
  }

  private readChunkEnd(bytes: Buffer, at: number): number {
    if (this.partial === '' && bytes[at] === CR && bytes[at + 1] === LF) {
      this.state = 'chunk-size'
      return at + 2
    }
    return this.readSplitEnd(bytes, at)
  }

  // Functions with closures take memory for what these refer to at every call, so that the steps of usual chunks have none.
  private readLongSize(bytes: Buffer, at: number): number {
    return this.readLine(bytes, at, CHUNK_LINE_BYTES_MAX, (line) => this.readSizeLine(line))
  }

  private readSplitEnd(bytes: Buffer, at: number): number {
    return this.readLine(bytes, at, 2, (line) => this.expectEmpty(line))
  }

  private readTrailer(bytes: Buffer, at: number, sink: ResponseSink): number {
    return this.readLine(bytes, at, TRAILER_BYTES_MAX, (line) => this.passTrailer(bytes, line, sink))
  }

  private readSizeLine(line: string): void {
    const match = CHUNK_SIZE.exec(line)
    if (match === null) this.state = 'broken'
    else this.beginChunk(Number.parseInt(match[1] ?? '', 16))
  }

  private beginChunk(size: number): void {
    this.left = size
    this.state = this.left === 0 ? 'trailer' : 'chunk-data'
  }

  private expectEmpty(line: string): void {
    this.state = line === '' ? 'chunk-size' : 'broken'
  }

  private passTrailer(bytes: Buffer, line: string, sink: ResponseSink): void {
    this.trailerBytes += line.length
    if (line === '') this.end(bytes, sink)
    else if (this.trailerBytes > TRAILER_BYTES_MAX || !isField(line)) this.state = 'broken'
  }

  /** Reads up to CRLF; a line over `max` bytes or with a bare CR or LF breaks the answer. */
  private readLine(bytes: Buffer, at: number, max: number, use: (line: string) => void): number {
    const lf = bytes.indexOf(LF, at)
    const end = lf < 0 ? bytes.length : lf + 1
    const whole = this.partial + bytes.toString('latin1', at, end)
    if (whole.length > max + 2) this.state = 'broken'
    else if (lf < 0) this.partial = whole
    else {
      this.partial = ''
      const body = whole.length - 2
      if (body < 0 || whole.charCodeAt(body) !== CR || whole.indexOf('\r') !== body) this.state = 'broken'
      else use(whole.slice(0, body))
    }
    return end
  }

  private end(bytes: Buffer, sink: ResponseSink): void {
    this.handOn(bytes, sink)
    this.state = 'ended'
    sink.onResponseEnd(this.head?.keepAlive ?? false)
  }
}

const STATE_AFTER_HEAD = { none: 'ended', length: 'length', chunked: 'chunk-size', close: 'close' } as const

/** The value of a hexadecimal digit, or -1. */
function hexDigit(code: number | undefined): number {
  if (code === undefined) return -1
  if (code >= 48 && code <= 57) return code - 48
  const lower = code | 32
  return lower >= 97 && lower <= 102 ? lower - 87 : -1
}

/** Rejects bytes that cannot be an HTTP answer before waiting for the end of the head. */
function couldBeHead(text: string): boolean {
  return text.startsWith('HTTP/1.') || 'HTTP/1.'.startsWith(text)
}
