const CR = 13
const PLUS = 43
const MINUS = 45
const COLON = 58
const DOLLAR = 36
const STAR = 42
const ZERO = 48
const DEPTH_MAX = 4
const NOTHING = Buffer.alloc(0)

/** An answer of Redis: a number, a text, an array of answers, null, or an error that Redis answered with. */
export type Reply = number | string | null | RedisError | Reply[]

/** An error that Redis answered a command with. */
export class RedisError extends Error {
  override readonly name = 'RedisError'
}

/** The bytes are no answers of Redis; nothing behind them can be understood. */
export class ProtocolError extends Error {
  override readonly name = 'ProtocolError'
}

const INCOMPLETE: unique symbol = Symbol('incomplete')

/**
 * Reads the answers of a Redis server from its bytes (RESP2, https://redis.io/docs/latest/develop/reference/protocol-spec/),
 * in whatever pieces they come. Texts are read as Latin-1; scripts answer with numbers and ASCII.
 */
export class RespReader {
  private readonly bytesMax: number
  private rest: Buffer = NOTHING
  private bytes: Buffer = NOTHING
  private at = 0

  /** @param bytesMax of an answer that has not arrived in full; beyond it the bytes are taken for nonsense */
  constructor(bytesMax: number) {
    this.bytesMax = bytesMax
  }

  /**
   * Reads on. The bytes are only looked at during the call.
   * @param onReply called with every answer that is complete, in their order
   * @throws ProtocolError; the reader is of no use afterwards
   */
  push(piece: Buffer, onReply: (reply: Reply) => void): void {
    this.bytes = this.rest.length === 0 ? piece : Buffer.concat([this.rest, piece])
    this.at = 0
    let done = 0
    while (this.at < this.bytes.length) {
      const reply = this.value(0)
      if (reply === INCOMPLETE) break
      done = this.at
      onReply(reply)
    }
    const left = this.bytes.length - done
    if (left > this.bytesMax) throw new ProtocolError(`an answer of Redis is longer than ${this.bytesMax} bytes`)
    // What is kept has to be a copy, because the next read overwrites the memory of this one.
    this.rest = left === 0 ? NOTHING : Buffer.from(this.bytes.subarray(done))
    this.bytes = NOTHING
  }

  private value(depth: number): Reply | typeof INCOMPLETE {
    const type = this.bytes[this.at]
    const start = this.at + 1
    const end = this.bytes.indexOf(CR, start)
    if (end < 0 || end + 1 >= this.bytes.length) return INCOMPLETE
    this.at = end + 2
    switch (type) {
      case COLON:
        return this.integer(start, end)
      case DOLLAR:
        return this.bulk(this.integer(start, end))
      case STAR:
        return this.array(this.integer(start, end), depth)
      case PLUS:
        return this.bytes.toString('latin1', start, end)
      case MINUS:
        return new RedisError(this.bytes.toString('latin1', start, end))
      default:
        throw new ProtocolError(`an answer of Redis begins with byte ${type}`)
    }
  }

  private bulk(length: number): string | null | typeof INCOMPLETE {
    if (length < 0) return null
    const start = this.at
    if (start + length + 2 > this.bytes.length) return INCOMPLETE
    this.at = start + length + 2
    return this.bytes.toString('latin1', start, start + length)
  }

  private array(length: number, depth: number): Reply[] | null | typeof INCOMPLETE {
    if (length < 0) return null
    if (depth >= DEPTH_MAX) throw new ProtocolError('an answer of Redis nests too deep')
    const items: Reply[] = []
    for (let i = 0; i < length; i++) {
      if (this.at >= this.bytes.length) return INCOMPLETE
      const item = this.value(depth + 1)
      if (item === INCOMPLETE) return INCOMPLETE
      items.push(item)
    }
    return items
  }

  private integer(start: number, end: number): number {
    const negative = this.bytes[start] === MINUS
    let value = 0
    let digits = 0
    for (let at = negative ? start + 1 : start; at < end; at++) {
      const digit = (this.bytes[at] as number) - ZERO
      if (digit < 0 || digit > 9) throw new ProtocolError('an answer of Redis has a number that is none')
      value = value * 10 + digit
      digits++
    }
    if (digits === 0 || !Number.isSafeInteger(value)) throw new ProtocolError('an answer of Redis has a bad number')
    return negative ? -value : value
  }
}
