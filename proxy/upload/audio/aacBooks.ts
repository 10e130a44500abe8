/**
 * The Huffman codebooks of AAC (ISO/IEC 14496-3, section 4.A). Only lengths matter to the measurement, so a book is the
 * number of its codes of each length, from 0 bits on: those of one length follow each other, after all shorter ones.
 */

/** Bits whose codes are found by one look-up. */
const FAST_BITS = 12
const LENGTH_MAX = 19
const SIGN = 32
const LONG = 256
/** The bits that follow a code: that many signs, or a sign for each of two values of which one or both are continued. */
const KINDS: Readonly<Record<string, number>> = {
  0: 0,
  1: SIGN,
  2: 2 * SIGN,
  3: 3 * SIGN,
  4: 4 * SIGN,
  a: SIGN + LONG,
  b: 2 * SIGN + LONG,
  c: 2 * SIGN + 2 * LONG,
}

/** A code's entry has its length in bits, + 32 for each sign that follows, + 256 for each value that is continued. */
export interface AacBook {
  /** Coefficients that a code stands for. */
  readonly values: number
  /** Entries by the next 12 bits; 0 for codes that are longer. */
  readonly fast: Uint16Array
  /** By length: the first 19 bits after its codes. */
  readonly ends: Int32Array
  /** In the order of their codes. */
  readonly entries: Uint16Array
  /** By length: how many codes are shorter. */
  readonly shorter: Int32Array
}

/** The next code's entry. @param bits the next 19 bits */
export function entryOf(book: AacBook, bits: number): number {
  const fast = book.fast[bits >> (LENGTH_MAX - FAST_BITS)] as number
  if (fast !== 0) return fast
  let length = FAST_BITS + 1
  while (bits >= (book.ends[length] as number)) length++
  const behind = (book.ends[length - 1] as number) >> (LENGTH_MAX - length)
  return book.entries[(book.shorter[length] as number) + (bits >> (LENGTH_MAX - length)) - behind] as number
}

function book(values: number, counts: readonly number[], kinds = ''): AacBook {
  const entries = new Uint16Array(counts.reduce((sum, count) => sum + count, 0))
  const fast = new Uint16Array(2 ** FAST_BITS)
  const ends = new Int32Array(LENGTH_MAX + 1)
  const shorter = new Int32Array(LENGTH_MAX + 1)
  let index = 0
  let end = 0
  for (let length = 0; length <= LENGTH_MAX; length++) {
    shorter[length] = index
    for (let left = counts[length] ?? 0; left > 0; left--) {
      const entry = length + (KINDS[kinds[index] ?? '0'] as number)
      entries[index++] = entry
      const from = end
      end += 2 ** (LENGTH_MAX - length)
      if (length <= FAST_BITS) fast.fill(entry, from >> (LENGTH_MAX - FAST_BITS), end >> (LENGTH_MAX - FAST_BITS))
    }
    ends[length] = end
  }
  return { values, fast, ends, entries, shorter }
}

export const SCALE_FACTORS = book(1, [0, 1, 0, 1, 3, 2, 4, 3, 5, 4, 6, 6, 6, 5, 8, 4, 7, 3, 7, 46])

/** Codebook 1 and those that follow it. */
export const SPECTRUM: readonly AacBook[] = [
  book(4, [0, 1, 0, 0, 0, 8, 0, 24, 0, 24, 8, 16]),
  book(4, [0, 0, 0, 1, 1, 7, 24, 15, 19, 14]),
  book(
    4,
    [0, 1, 0, 0, 4, 2, 6, 3, 5, 15, 15, 8, 9, 3, 3, 5, 2],
    '011112222232343311223232331221224334323244332333223243344233333344442233434443233',
  ),
  book(
    4,
    [0, 0, 0, 0, 10, 6, 0, 9, 21, 8, 14, 11, 2],
    '433331202222121144443333333333332222222222221111444444333333333433344422222243333',
  ),
  book(2, [0, 1, 0, 0, 4, 4, 0, 4, 12, 12, 12, 18, 10, 4]),
  book(2, [0, 0, 0, 0, 9, 0, 16, 13, 8, 23, 8, 4]),
  book(
    2,
    [0, 1, 0, 2, 1, 0, 4, 5, 10, 14, 15, 8, 4],
    '0112221122211222222221122212122222222211222222222222112222222222',
  ),
  book(2, [0, 0, 0, 1, 5, 7, 10, 14, 15, 8, 4], '2212120112222222221122222222221212222222121222222222221212222112'),
  book(
    2,
    [0, 1, 0, 2, 1, 0, 4, 3, 8, 11, 20, 31, 38, 32, 14, 4],
    '0112221122211222222221122222221212222222212222222212221222212222112222222222222122212222222222222222' +
      '222212212222222122222222222222212212222122222222222222222222222222222',
  ),
  book(
    2,
    [0, 0, 0, 0, 3, 8, 14, 17, 25, 31, 41, 22, 8],
    '2222112222211222202211222222222222121222222222222121222222222222222222122222122222222222222222121222' +
      '222212222221222222222222222221212122222222222222212122212221222222122',
  ),
  book(
    2,
    [0, 0, 0, 0, 2, 6, 7, 16, 59, 55, 95, 43, 6],
    '02c11222222121222222211222222222222222bbbbb2b121b2bbbb22222bb22bbb22b2bbb2b22bb2221bb222212bb22b2b22' +
      '22222b221222222122222222222222122222222222a222222a21222222222222222222222222222222122222222222222222' +
      '21222222222222222222222222222112222222222222222222222222212212122212222211222212212112112',
  ),
]
