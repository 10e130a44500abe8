/** Rounds of the Chaskey permutation, as in ISO/IEC 29192-6 (Chaskey-12). */
const ROUNDS = 12
const WORDS = 4

/** The four 32-bit words of a block. */
export type Block = Int32Array

/**
 * A keyed permutation of blocks of 128 bits for identifiers, not for secrets: the permutation of Chaskey with the key added
 * before and after it (Even and Mansour; Mouha et al., SAC 2014). It takes additions, rotations and exclusive ors alone, so that
 * it costs a fraction of a call of node:crypto and no tables that push others out of the processor's cache.
 */
export class BlockCipher {
  private readonly key: Block

  /** @param key 16 bytes */
  constructor(key: Buffer) {
    this.key = Int32Array.from({ length: WORDS }, (_, at) => key.readInt32LE(at * Int32Array.BYTES_PER_ELEMENT))
  }

  /** Replaces a block by its image. */
  encrypt(block: Block): void {
    addKey(block, this.key)
    permute(block, ROUNDS)
    addKey(block, this.key)
  }

  /** The inverse of `encrypt`. */
  decrypt(block: Block): void {
    addKey(block, this.key)
    unpermute(block, ROUNDS)
    addKey(block, this.key)
  }
}

/** The permutation itself; its authors' test vectors have 8 rounds. */
export function permute(block: Block, rounds: number): void {
  let [v0, v1, v2, v3] = [wordAt(block, 0), wordAt(block, 1), wordAt(block, 2), wordAt(block, 3)]
  for (let round = 0; round < rounds; round++) {
    v0 = (v0 + v1) | 0
    v1 = rotated(v1, 5) ^ v0
    v0 = rotated(v0, 16)
    v2 = (v2 + v3) | 0
    v3 = rotated(v3, 8) ^ v2
    v0 = (v0 + v3) | 0
    v3 = rotated(v3, 13) ^ v0
    v2 = (v2 + v1) | 0
    v1 = rotated(v1, 7) ^ v2
    v2 = rotated(v2, 16)
  }
  setWords(block, v0, v1, v2, v3)
}

function unpermute(block: Block, rounds: number): void {
  let [v0, v1, v2, v3] = [wordAt(block, 0), wordAt(block, 1), wordAt(block, 2), wordAt(block, 3)]
  for (let round = 0; round < rounds; round++) {
    v2 = rotated(v2, 16)
    v1 = rotated(v1 ^ v2, 25)
    v2 = (v2 - v1) | 0
    v3 = rotated(v3 ^ v0, 19)
    v0 = (v0 - v3) | 0
    v3 = rotated(v3 ^ v2, 24)
    v2 = (v2 - v3) | 0
    v0 = rotated(v0, 16)
    v1 = rotated(v1 ^ v0, 27)
    v0 = (v0 - v1) | 0
  }
  setWords(block, v0, v1, v2, v3)
}

function addKey(block: Block, key: Block): void {
  for (let at = 0; at < WORDS; at++) block[at] = wordAt(block, at) ^ wordAt(key, at)
}

function setWords(block: Block, v0: number, v1: number, v2: number, v3: number): void {
  block[0] = v0
  block[1] = v1
  block[2] = v2
  block[3] = v3
}

function wordAt(block: Block, at: number): number {
  return block[at] as number
}

/** Rotated to the left. */
function rotated(value: number, bits: number): number {
  return (value << bits) | (value >>> (32 - bits))
}
