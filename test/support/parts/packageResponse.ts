import type { HttpResponse } from '../../../proxy/server/uws.ts'

const CORK_BYTES = 16_384
/** A socket is reported as ready when a third of its buffer is free, and is so at the beginning of an answer. */
const READY_BYTES = 5_461

/**
 * An answer as the HTTP server package sends it over a socket that takes what it has room for. As the package does, it loses
 * bytes that do not fit the buffer of a cork when the socket takes nothing of what is in that buffer, and writes what it keeps at
 * the next write or end of a cork only.
 */
export class PackageResponse {
  /** What reached the client. */
  readonly arrived: Buffer[] = []
  /** No function may be called any more. */
  ended = false
  /** Bytes that the package kept when the answer ended, and would lose with the connection of a slow client. */
  keptAtEnd = 0
  private kept = Buffer.alloc(0)
  private collected: Buffer[] = []
  private corked = false
  private chunked = false
  private sized = false
  private offset = 0
  private polls = false
  private isReady = true
  private writable: ((offset: number) => boolean) | undefined
  private readonly rooms: readonly number[]
  private sends = 0

  /** @param rooms the parts of each write that the socket takes, by turns */
  constructor(rooms: readonly number[]) {
    this.rooms = rooms
  }

  get response(): HttpResponse {
    return this as unknown as HttpResponse
  }

  onAborted(): void {}

  onWritable(listener: (offset: number) => boolean): void {
    this.writable = listener
  }

  cork(write: () => void): void {
    this.corked = true
    write()
    this.uncork(Buffer.alloc(0), false)
  }

  writeStatus(): void {}

  writeHeader(name: string, value: string): void {
    this.put(Buffer.from(`${name}: ${value}\r\n`), false)
  }

  write(bytes: Uint8Array): boolean {
    if (!this.chunked) this.put(Buffer.from('\r\n'), false)
    this.chunked = true
    this.put(Buffer.from(`${bytes.length.toString(16)}\r\n`), false)
    const isTaken = this.put(bytes, false) === bytes.length && this.kept.length === 0
    this.put(Buffer.from('\r\n'), false)
    return isTaken
  }

  end(body: string | Uint8Array): void {
    const bytes = Buffer.from(body)
    this.keptAtEnd = this.kept.length
    if (!this.chunked) this.put(Buffer.from('\r\n'), false)
    if (this.chunked && bytes.length > 0) this.write(bytes)
    this.put(this.chunked ? Buffer.from('0\r\n\r\n') : bytes, false)
    this.ended = true
  }

  tryEnd(bytes: Uint8Array, totalBytes: number): [boolean, boolean] {
    if (!this.sized) this.put(Buffer.from('\r\n'), false)
    this.sized = true
    this.offset += this.put(bytes, true)
    this.ended = this.offset === totalBytes
    return [this.ended, this.ended]
  }

  getWriteOffset(): number {
    return this.offset
  }

  /** The client reads on. @returns whether the package reports it */
  reads(): boolean {
    if (!this.polls) return false
    this.polls = false
    this.isReady = true
    if (this.ended) this.flush()
    else this.writable?.(this.offset)
    return true
  }

  private uncork(rest: Uint8Array, isOptional: boolean): number {
    this.corked = false
    const collected = Buffer.concat(this.collected)
    this.collected = []
    if (collected.length > 0) {
      this.put(collected, false)
      if (this.kept.length > 0) return 0
    }
    return this.put(rest, isOptional)
  }

  private put(bytes: Uint8Array, isOptional: boolean): number {
    if (this.kept.length > 0) {
      this.flush()
      if (this.kept.length > 0) {
        if (isOptional) return 0
        this.kept = Buffer.concat([this.kept, bytes])
        return bytes.length
      }
    }
    if (bytes.length === 0) return 0
    if (this.corked) {
      const collected = this.collected.reduce((sum, one) => sum + one.length, 0)
      if (collected + bytes.length > CORK_BYTES) return this.uncork(bytes, isOptional)
      this.collected.push(Buffer.from(bytes))
      return bytes.length
    }
    const taken = this.send(bytes)
    if (isOptional) return taken
    this.kept = Buffer.from(bytes.subarray(taken))
    return bytes.length
  }

  private flush(): void {
    if (this.kept.length > 0) this.kept = this.kept.subarray(this.send(this.kept))
  }

  private send(bytes: Uint8Array): number {
    const room = this.rooms[this.sends++ % this.rooms.length] ?? 1
    const taken = Math.max(Math.floor(bytes.length * room), this.isReady ? Math.min(READY_BYTES, bytes.length) : 0)
    this.isReady = false
    this.arrived.push(Buffer.from(bytes.subarray(0, taken)))
    if (taken < bytes.length) this.polls = true
    return taken
  }
}
