import { hkdfSync, randomBytes } from 'node:crypto'
import { BlockCipher } from './blockCipher.ts'
import { CODES } from './ids.ts'

const PREFIX = 'try_'
const REQUEST_PREFIX = 'req_'
const FORM = /^try_[0-7][0-9A-HJKMNP-TV-Z]{25}$/
const BLOCK_BYTES = 16
const KEY_BYTES = 16
const TEXT_LENGTH = 26
/** Of the time in a request id, which is below 2^42 ms until the year 2109, the bits that are left for the number. */
const NUMBER_BITS = 6
const NUMBERS = 2 ** NUMBER_BITS
const TIME_MASK = 0xff >> NUMBER_BITS

const VALUES = new Uint8Array(128)
for (const [value, code] of CODES.entries()) VALUES[code] = value

/** The attempt that an id names. */
export interface NamedAttempt {
  readonly requestId: string
  /** Modulo 64; see `AttemptIds.of`. */
  readonly number: number
}

/**
 * Ids under which requests are known to providers: a keyed permutation of the request id and the number of the attempt.
 * A holder of the key can find the receipt of an id; to others, ids show neither the request, which has a public
 * receipt, nor which of them are of the same one.
 */
export class AttemptIds {
  private readonly ciphers: readonly BlockCipher[]
  private readonly words = new Int32Array(BLOCK_BYTES / Int32Array.BYTES_PER_ELEMENT)
  private readonly block = Buffer.from(this.words.buffer)
  private readonly text = Buffer.alloc(PREFIX.length + TEXT_LENGTH, PREFIX)

  /** @param busKeys the first one makes ids, each of them reads them */
  constructor(busKeys: readonly Buffer[]) {
    this.ciphers = busKeys.map(
      (key) => new BlockCipher(Buffer.from(hkdfSync('sha256', key, '', 'sluice attempt ids', KEY_BYTES))),
    )
  }

  /**
   * @param number of the attempt among those of its request; only its lowest 6 bits count
   * @throws RangeError when there is no key
   */
  of(requestId: string, number: number): string {
    const [cipher] = this.ciphers
    if (cipher === undefined) throw new RangeError('attempt ids need a key')
    return this.encrypted(cipher, requestId, number)
  }

  /** The ids of an attempt under each of the keys, that of the newest one first. */
  all(requestId: string, number: number): string[] {
    return this.ciphers.map((cipher) => this.encrypted(cipher, requestId, number))
  }

  /** The attempts that an id may name: one for each key. None if it does not have the form of an id. */
  read(attemptId: string): NamedAttempt[] {
    if (!FORM.test(attemptId)) return []
    const { block } = this
    return this.ciphers.map((cipher) => {
      decode(attemptId, PREFIX.length, block)
      cipher.decrypt(this.words)
      const [first = 0] = block
      block[0] = first & TIME_MASK
      const text = Buffer.alloc(TEXT_LENGTH)
      encode(block, text, 0)
      return { requestId: REQUEST_PREFIX + text.toString('latin1'), number: first >> (8 - NUMBER_BITS) }
    })
  }

  private encrypted(cipher: BlockCipher, requestId: string, number: number): string {
    const { block, words, text } = this
    decode(requestId, requestId.length - TEXT_LENGTH, block)
    block[0] = ((block[0] as number) & TIME_MASK) | ((number % NUMBERS) << (8 - NUMBER_BITS))
    cipher.encrypt(words)
    encode(block, text, PREFIX.length)
    return text.toString('latin1')
  }
}

/** An id like those of attempts that stands for no request. */
export function randomAttemptId(): string {
  const text = Buffer.alloc(TEXT_LENGTH)
  encode(randomBytes(BLOCK_BYTES), text, 0)
  return PREFIX + text.toString('latin1')
}

/** Reads 26 digits of Crockford's base 32, the first two bits of which are zero, into 16 bytes: a byte, then 5 of each 8 digits. */
function decode(text: string, from: number, bytes: Buffer): void {
  bytes[0] = (valueAt(text, from) << 5) | valueAt(text, from + 1)
  for (let at = from + 2, to = 1; to < BLOCK_BYTES; at += 8, to += 5) {
    const high = fourFrom(text, at)
    const low = fourFrom(text, at + 4)
    bytes[to] = high >> 12
    bytes[to + 1] = high >> 4
    bytes[to + 2] = (high << 4) | (low >> 16)
    bytes[to + 3] = low >> 8
    bytes[to + 4] = low
  }
}

/** Writes 16 bytes as 26 digits. */
function encode(bytes: Buffer, text: Buffer, from: number): void {
  const first = bytes[0] as number
  text[from] = CODES[first >> 5] as number
  text[from + 1] = CODES[first & 31] as number
  for (let at = 1, to = from + 2; at < BLOCK_BYTES; at += 5, to += 8) {
    const middle = bytes[at + 2] as number
    writeFour(text, to, ((bytes[at] as number) << 12) | ((bytes[at + 1] as number) << 4) | (middle >> 4))
    writeFour(text, to + 4, ((middle & 15) << 16) | ((bytes[at + 3] as number) << 8) | (bytes[at + 4] as number))
  }
}

function valueAt(text: string, at: number): number {
  return VALUES[text.charCodeAt(at)] as number
}

function fourFrom(text: string, at: number): number {
  return (
    (valueAt(text, at) << 15) | (valueAt(text, at + 1) << 10) | (valueAt(text, at + 2) << 5) | valueAt(text, at + 3)
  )
}

function writeFour(text: Buffer, at: number, value: number): void {
  text[at] = CODES[value >> 15] as number
  text[at + 1] = CODES[(value >> 10) & 31] as number
  text[at + 2] = CODES[(value >> 5) & 31] as number
  text[at + 3] = CODES[value & 31] as number
}
