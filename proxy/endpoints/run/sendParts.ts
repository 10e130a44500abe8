import type { DrainListener, Exchange, HeaderList } from '../../server/exchange.ts'

/** Bytes that are copied and written in one turn of the event loop; a shorter answer is sent in one piece. */
const PART_BYTES = 1_048_576

/**
 * Sends an answer with status 200 that may be large. No turn of the event loop copies all of it, and no more of it waits in
 * the server than its client reads.
 * @param pieces of the body
 */
export function sendParts(
  exchange: Exchange,
  contentType: string,
  pieces: readonly Uint8Array[],
  headers?: HeaderList,
): void {
  const bytes = pieces.reduce((sum, piece) => sum + piece.byteLength, 0)
  if (bytes <= PART_BYTES) exchange.answer(200, contentType, Buffer.concat(pieces), headers)
  else new PartSender(exchange, pieces).start(contentType, headers)
}

class PartSender implements DrainListener {
  private readonly exchange: Exchange
  private readonly pieces: readonly Uint8Array[]
  private place = 0
  private from = 0

  constructor(exchange: Exchange, pieces: readonly Uint8Array[]) {
    this.exchange = exchange
    this.pieces = pieces
  }

  start(contentType: string, headers: HeaderList | undefined): void {
    const { exchange } = this
    exchange.beginStream(headers, contentType)
    exchange.setDrainListener(this)
    this.send()
  }

  onDrain(): void {
    this.send()
  }

  /** Sends the next part; the one after it when the client takes more, or in the next turn. */
  private send(): void {
    const { exchange } = this
    if (exchange.gone) return
    const part = this.nextPart()
    if (part === undefined) {
      exchange.setDrainListener(null)
      exchange.end(Buffer.alloc(0))
    } else if (exchange.write(part)) setImmediate(() => this.send())
  }

  private nextPart(): Uint8Array | undefined {
    let piece = this.pieces[this.place]
    while (piece !== undefined && this.from >= piece.byteLength) {
      this.from = 0
      piece = this.pieces[++this.place]
    }
    const part = piece?.subarray(this.from, this.from + PART_BYTES)
    this.from += PART_BYTES
    return part
  }
}
