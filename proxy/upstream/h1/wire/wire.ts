import type { LookupFunction, Socket } from 'node:net'

/** The server of a wire. */
export interface WireEnd {
  readonly host: string
  readonly port: number
  /** Resolves the host; the system's resolver where absent. */
  readonly lookup?: LookupFunction
  /** A connection to it that is there already. */
  readonly socket?: Socket
}

/** The events of a wire. */
export interface WireListener {
  /** Bytes can go out. */
  onConnected(): void
  /** Bytes are only lent for the time of the call. */
  onBytes(bytes: Buffer): void
  /** The other side sends nothing more. */
  onEnd(): void
  /** The wire is unusable. */
  onBroken(error: Error | undefined): void
}

/** A connection below HTTP, read without the copies and the events of streams. */
export interface Wire {
  /** For outgoing bytes. */
  readonly socket: Socket
  /** The socket takes bytes before it is connected. */
  readonly isReady: boolean
  /** Stops reading until `resume`. */
  pause(): void
  resume(): void
  /** Closes it; its listener may still get `onBroken`. */
  destroy(): void
}
