import { OutBuffer } from './outBuffer.ts'

/** A stream whose bytes are gathered. */
export interface Gathering {
  /** Takes what was gathered for it; the buffer is cleared afterwards. */
  flush(bytes: OutBuffer): void
}

/**
 * The buffer that all streams of a process gather their output in. One read from a provider may hold many events that
 * arrive in calls of their own; they leave together when the turn ends, or earlier when another stream needs the buffer.
 */
export class Outgoing {
  private readonly bytes = new OutBuffer()
  private gathering: Gathering | null = null
  private readonly endTurn = () => this.flush()

  /** The buffer for a stream to append to; what is appended reaches its `flush` within this turn. */
  for(stream: Gathering): OutBuffer {
    if (this.gathering !== stream) {
      this.flush()
      this.gathering = stream
      process.nextTick(this.endTurn)
    }
    return this.bytes
  }

  /** Hands over what was gathered, now. */
  flush(): void {
    const stream = this.gathering
    if (stream === null) return
    this.gathering = null
    try {
      if (this.bytes.length > 0) stream.flush(this.bytes)
    } finally {
      // Whatever happens, one stream's bytes must not end up in another's.
      this.bytes.clear()
    }
  }
}
