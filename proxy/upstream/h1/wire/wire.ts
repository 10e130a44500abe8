import type { LookupFunction, Socket } from 'node:net'

/** Where a wire leads. */
export interface WireEnd {
  readonly host: string
  readonly port: number
  /** Resolves the host; the system's resolver where absent. */
  readonly lookup?: LookupFunction
}

/** The events of a wire. */
export interface WireListener {
  /** Bytes can go out. */
  onConnected(): void
  /** Bytes are only lent for the time of the call. */
  onBytes(bytes: Buffer): void
  /** The other side sends nothing more. */
  onEnd(): void
  /** The wire is of no use any more. */
  onBroken(error: Error | undefined): void
}

/** A connection below HTTP, read without the copies and the events of streams. */
export interface Wire {
  /** For what goes out. */
  readonly socket: Socket
  /** Until `resume` nothing comes in. */
  pause(): void
  resume(): void
  /** Ends it; its listener may still hear that it is broken. */
  destroy(): void
}
