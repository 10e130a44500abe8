import type { Transform } from 'node:stream'
import { createBrotliDecompress, createGunzip, createInflate, createInflateRaw, type Zlib } from 'node:zlib'
import {
  TransportFailure,
  type UpstreamFlow,
  type UpstreamHeaders,
  type UpstreamListener,
} from './transport/transport.ts'

type Decompressor = Transform & Zlib

/** The method of a zlib stream, in the low half of its first byte (RFC 1950 section 2.2). */
const DEFLATE_METHOD = 8

/** Content codings of RFC 9110 section 8.4.1; `deflate` is a zlib stream, and from some servers one without its frame. */
const DECOMPRESSORS: Readonly<Record<string, (firstByte: number) => Decompressor>> = {
  gzip: () => createGunzip(),
  'x-gzip': () => createGunzip(),
  deflate: (firstByte) => ((firstByte & 0x0f) === DEFLATE_METHOD ? createInflate() : createInflateRaw()),
  br: () => createBrotliDecompress(),
}

/** No coding, also in words that are none and that clients take for none: a charset, or `none`. */
const PLAIN: ReadonlySet<string> = new Set(['', 'identity', 'none', 'utf-8', 'utf8'])

/**
 * Decodes the content coding of an answer, which providers are asked not to use. It decompresses as bytes arrive and applies
 * backpressure to the connection while it is full or its reader pauses, so that a bound on the body bounds the memory. A
 * body that is truncated, corrupt or followed by other bytes fails as malformed.
 */
export class BodyDecoder implements UpstreamListener {
  private readonly listener: UpstreamListener
  private readonly open: (firstByte: number) => Decompressor
  private readonly wire: UpstreamFlow
  private stream: Decompressor | undefined
  private fedBytes = 0
  private writesOpen = 0
  private held = false
  private full = false
  private wireEnded = false
  private failure: TransportFailure | undefined
  private over = false

  /** @param wire the connection that the body comes over */
  constructor(listener: UpstreamListener, open: (firstByte: number) => Decompressor, wire: UpstreamFlow) {
    this.listener = listener
    this.open = open
    this.wire = wire
  }

  onHead(status: number, headers: UpstreamHeaders): void {
    this.listener.onHead(status, headers)
  }

  onData(bytes: Buffer): void {
    if (this.over || bytes.length === 0) return
    this.stream ??= this.begin(bytes[0] as number)
    this.fedBytes += bytes.length
    this.writesOpen++
    // Bytes are only lent, and another thread reads them.
    if (this.stream.write(Buffer.from(bytes), this.written)) return
    this.full = true
    this.wire.pause()
  }

  onEnd(): void {
    if (this.over) return
    this.wireEnded = true
    if (this.stream === undefined) this.ended()
    else this.stream.end()
  }

  onFailure(failure: TransportFailure): void {
    if (this.over) return
    this.failure = failure
    // Bytes that arrived before the failure are delivered before it, unless the reader has stopped reading.
    if (this.writesOpen === 0 || this.held) this.fail(failure)
  }

  pause(): void {
    this.held = true
    this.stream?.pause()
    this.wire.pause()
  }

  resume(): void {
    this.held = false
    this.stream?.resume()
    if (!this.full) this.wire.resume()
  }

  /** Ends the decoding; the listener is not called any more. */
  cancel(): void {
    this.over = true
    this.stream?.destroy()
    this.wire.cancel()
  }

  private begin(firstByte: number): Decompressor {
    const stream = this.open(firstByte)
    if (this.held) stream.pause()
    stream.on('data', (bytes: Buffer) => {
      if (!this.over) this.listener.onData(bytes)
    })
    stream.on('drain', () => {
      this.full = false
      if (!this.held) this.wire.resume()
    })
    stream.on('end', () => this.ended())
    stream.on('error', (cause) => this.fail(new TransportFailure('malformed', { cause })))
    return stream
  }

  private readonly written = (): void => {
    this.writesOpen--
    if (this.writesOpen === 0 && this.failure !== undefined) this.fail(this.failure)
  }

  // A compressed stream that ends before the connection, or before the received bytes do, is followed by other bytes.
  private ended(): void {
    if (this.over) return
    const isWhole = this.wireEnded && (this.stream?.bytesWritten ?? 0) === this.fedBytes
    if (!isWhole) {
      this.fail(new TransportFailure('malformed'))
      return
    }
    this.over = true
    this.listener.onEnd()
  }

  private fail(failure: TransportFailure): void {
    if (this.over) return
    this.cancel()
    this.listener.onFailure(failure)
  }
}

/** How the body of an answer is read. */
export interface BodyReading {
  /** Absent for a body that is relayed as it arrives. */
  readonly decoder?: BodyDecoder
  readonly headers: UpstreamHeaders
}

/**
 * Decides how a body with a Content-Encoding is read. A body in an unknown coding is passed on undecoded, and its headers
 * are marked as unreadable.
 * @param coding the header's value
 */
export function readCoded(
  coding: string,
  headers: UpstreamHeaders,
  listener: UpstreamListener,
  wire: UpstreamFlow,
): BodyReading {
  const names = coding
    .toLowerCase()
    .split(',')
    .map((name) => name.trim())
  const [name, ...others] = names.filter((one) => !PLAIN.has(one))
  if (name === undefined) return { headers }
  const open = others.length === 0 && Object.hasOwn(DECOMPRESSORS, name) ? DECOMPRESSORS[name] : undefined
  if (open === undefined) return { headers: { get: (wanted) => headers.get(wanted), unreadable: true } }
  return { decoder: new BodyDecoder(listener, open, wire), headers }
}
