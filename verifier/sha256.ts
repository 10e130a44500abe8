import type { Bytes } from './bytes.ts'

// SHA-256 as in FIPS 180-4. The WebCrypto of browsers is not available on pages without TLS or from a file.

const BLOCK_BYTES = 64
const LENGTH_BYTES = 8

/** The first 32 bits of the fractions of the square or cube roots of the first primes. */
function fractionsOf(root: (prime: number) => number, count: number): Uint32Array {
  const fractions = new Uint32Array(count)
  for (let candidate = 2, found = 0; found < count; candidate++) {
    let divisor = 2
    while (divisor * divisor <= candidate && candidate % divisor !== 0) divisor++
    if (divisor * divisor <= candidate) continue
    fractions[found++] = (root(candidate) % 1) * 2 ** 32
  }
  return fractions
}

const START = fractionsOf(Math.sqrt, 8)
const ROUNDS = fractionsOf(Math.cbrt, 64)

/** The hash of some bytes. */
export function sha256(message: Bytes): Bytes {
  const padded = new Uint8Array(Math.ceil((message.length + 1 + LENGTH_BYTES) / BLOCK_BYTES) * BLOCK_BYTES)
  padded.set(message)
  padded[message.length] = 0x80
  const view = new DataView(padded.buffer)
  view.setBigUint64(padded.length - LENGTH_BYTES, BigInt(message.length) * 8n)
  const state = START.slice()
  const words = new Uint32Array(ROUNDS.length)
  for (let at = 0; at < padded.length; at += BLOCK_BYTES) {
    fillWords(words, view, at)
    mix(state, words)
  }
  const digest = new DataView(new ArrayBuffer(state.length * 4))
  for (const [at, word] of state.entries()) digest.setUint32(at * 4, word)
  return new Uint8Array(digest.buffer)
}

const rotated = (word: number, bits: number): number => (word >>> bits) | (word << (32 - bits))
const wordAt = (words: Uint32Array, at: number): number => words[at] as number

/** The message schedule of a block. */
function fillWords(words: Uint32Array, view: DataView, start: number): void {
  for (let at = 0; at < 16; at++) words[at] = view.getUint32(start + at * 4)
  for (let at = 16; at < words.length; at++) {
    const near = wordAt(words, at - 2)
    const far = wordAt(words, at - 15)
    const nearMixed = rotated(near, 17) ^ rotated(near, 19) ^ (near >>> 10)
    const farMixed = rotated(far, 7) ^ rotated(far, 18) ^ (far >>> 3)
    words[at] = wordAt(words, at - 16) + farMixed + wordAt(words, at - 7) + nearMixed
  }
}

/** The rounds of a block. */
function mix(state: Uint32Array, words: Uint32Array): void {
  let [a = 0, b = 0, c = 0, d = 0, e = 0, f = 0, g = 0, h = 0] = state
  for (let at = 0; at < words.length; at++) {
    const high = rotated(e, 6) ^ rotated(e, 11) ^ rotated(e, 25)
    const first = (h + high + ((e & f) ^ (~e & g)) + wordAt(ROUNDS, at) + wordAt(words, at)) | 0
    const low = rotated(a, 2) ^ rotated(a, 13) ^ rotated(a, 22)
    const second = (low + ((a & b) ^ (a & c) ^ (b & c))) | 0
    h = g
    g = f
    f = e
    e = (d + first) | 0
    d = c
    c = b
    b = a
    a = (first + second) | 0
  }
  for (const [at, word] of [a, b, c, d, e, f, g, h].entries()) state[at] = wordAt(state, at) + word
}
